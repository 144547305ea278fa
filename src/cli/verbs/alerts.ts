import { type Channel, deliver } from '../../operate/alerts/channel.ts';
import { configuredChannels } from '../../operate/worker/notifier.ts';
import { problemOf, TEST_MESSAGE } from '../../operate/alerts/message.ts';
import { type AlertRow, isAlert, readOutbox } from '../../operate/alerts/outbox.ts';
import { withIsoTimes } from '../../operate/status/json-status.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { readProblems } from '../../operate/worker/read-problems.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatTime } from '../../shared/format.ts';
import { createRedactor } from '../../shared/redact.ts';
import { toIso, toMs } from '../../shared/time.ts';
import { EXIT } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import { configOf, type Verb } from '../verb.ts';

const test: Verb = {
  about: 'send one test alert through each configured channel and print whether it was accepted',
  common: ['json'],
  async runAlone(context) {
    const { terminal, signal } = context;
    const config = configOf(context, {});
    const channels = configuredChannels(config.notifications);
    if (channels.length === 0) {
      throw new SafetySyncError('configuration_invalid', 'no channel is configured for alerts', {
        advice: 'Set ALERT_WEBHOOK_URL, or SMTP_URL with ALERT_EMAIL_FROM and ALERT_EMAIL_TO.',
      });
    }
    const redact = createRedactor(config.secrets);
    const tryChannel = async (channel: Channel) => {
      const sent = { channel: channel.name, place: channel.endpoint };
      try {
        const problem = await deliver(channel, TEST_MESSAGE, signal);
        const advice = problem === null ? null : 'Correct ALERT_EMAIL_TO; the other recipients get alerts.';
        return { ...sent, taken: problem === null, problem, advice };
      } catch (error) {
        if (!(error instanceof SafetySyncError)) throw error;
        return { ...sent, taken: false, problem: redact(error.message), advice: error.advice };
      }
    };
    const sent = await Promise.all(channels.map(tryChannel));
    const { green, red } = terminal.colors;
    return {
      json: { channels: sent },
      lines: sent.map(({ taken, place, problem, advice }) =>
        taken
          ? `${green('taken')} by ${place}: look whether it is there`
          : `${red('not taken')} by ${problem}\n  ${advice}`,
      ),
      code: sent.every(({ taken }) => taken) ? EXIT.ok : EXIT.failed,
    };
  },
};

/** Recorded alerts, oldest first, and below them the present problems, recorded or not. */
export const alerts: Verb = {
  about: 'show current alerts, whether each was sent, and what is wrong now',
  common: ['accounts', 'json'],
  verbs: { test },
  async run({ app, terminal }) {
    const { accountIds, db, config } = app;
    const { problems, isWell, workerSeenMs } = await readProblems(app);
    const channels = configuredChannels(config.notifications).map(({ name }) => name);
    const rows = (await readOutbox(db, accountIds))
      .filter(isAlert)
      .filter(({ channel }) => channels.length === 0 || channels.includes(channel))
      .toSorted((one, other) => toMs(one.began_at) - toMs(other.began_at));
    const stateOf = (row: AlertRow): string => {
      if (row.ended_at !== null) return 'over; that was not told yet';
      if (row.tries > 0) return `not accepted: ${row.problem ?? ''}`;
      return row.sent_at === null ? 'sent when it has lasted long enough' : 'sent';
    };
    const table = renderRows(terminal, rows, {
      since: (row) => formatTime(row.began_at),
      ...accountColumn(rows),
      what: (row) => describeProblems([problemOf(row)])[0]?.said ?? '',
      by: (row) => row.channel,
      state: stateOf,
    });
    const open = describeProblems(problems.filter(({ isFailure }) => isFailure));
    const none = 'No alert is recorded. To see whether an alert arrives: safety-sync alerts test';
    return {
      json: { alerts: rows.map(withIsoTimes), is_well: isWell, worker_last_seen_at: toIso(workerSeenMs) },
      lines: [rows.length === 0 ? none : table, ...open.map(({ text }) => terminal.colors.red(text))],
      code: isWell ? EXIT.ok : EXIT.failed,
    };
  },
};
