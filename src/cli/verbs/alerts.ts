import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';
import { type Channel, deliver } from '../../operate/alerts/channel.ts';
import { alertText, testMessage } from '../../operate/alerts/message.ts';
import { configuredChannels } from '../../operate/alerts/notifier.ts';
import { type AlertRow, isAlert, readOutbox, textOfKey } from '../../operate/alerts/outbox.ts';
import { alertsOf, keyOf } from '../../operate/alerts/plan-alerts.ts';
import { secretsOf } from '../../config/secrets.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { readProblems } from '../../operate/worker/what-is-wrong.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatTime } from '../../shared/format.ts';
import { createRedactor } from '../../shared/redact.ts';
import { toIso, toMs } from '../../shared/time.ts';
import { EXIT } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import { withIsoTimes } from '../terminal.ts';
import {
  type CommonOptions,
  type CommandContext,
  configOf,
  JSON_OPTION,
  printOutput,
  type Verb,
  withApp,
} from '../verb.ts';

type Listed = Omit<AlertRow, 'channel' | 'began_at'> & {
  /** null: no worker has recorded it. */
  readonly channel: AlertRow['channel'] | null;
  readonly began_at: string | null;
};

/** `present`: the keys of the problems that last. */
function stateOf(one: Listed, present: ReadonlySet<string>, hasChannels: boolean): string {
  if (one.channel === null)
    return hasChannels ? 'no worker has recorded it yet' : 'not sent: no channel is configured';
  if (one.ended_at !== null || !present.has(textOfKey(one))) return 'over; that was not told yet';
  if (one.tries > 0) return `not accepted: ${one.problem ?? ''}`;
  return one.sent_at === null ? 'sent when it has lasted long enough' : 'sent';
}

/** Recorded alerts, oldest first, then problems that no worker has recorded. */
const runAlerts = withApp<CommonOptions>(async ({ app, terminal }) => {
  const { accounts, accountIds, db, config } = app;
  const { problems, isWell, workerSeenMs } = await readProblems(app);
  const told = alertsOf(problems);
  const channels = configuredChannels(config.notifications).map(({ name }) => name);
  const hasChannels = channels.length > 0;
  const rows = (await readOutbox(db, accountIds))
    .filter(isAlert)
    .filter(({ channel }) => !hasChannels || channels.includes(channel))
    .toSorted((one, other) => toMs(one.began_at) - toMs(other.began_at));
  const known = new Set(rows.map(textOfKey));
  const unrecorded = told
    .filter((one) => !known.has(keyOf(one)))
    .map(({ accountId, kind, subject, code, detail }): Listed => ({
      ...{ account_id: accountId ?? '', event: kind as AlertEvent, subject, channel: null, code, detail },
      ...{ began_at: null, ended_at: null, sent_at: null, due_at: null, tries: 0, problem: null },
    }));
  const listed: Listed[] = [...rows, ...unrecorded];
  const present = new Set(told.map(keyOf));
  const table = () =>
    renderRows<Listed>(
      listed,
      [
        { title: 'since', cellOf: (one) => formatTime(one.began_at) },
        accountColumn(accounts.length > 1),
        { title: 'what', cellOf: (one) => alertText(one, [one.subject]) },
        { title: 'by', cellOf: ({ channel }) => channel ?? '–' },
        { title: 'state', cellOf: (one) => stateOf(one, present, hasChannels) },
      ],
      terminal,
    );
  const none = isWell
    ? 'No alert is open. To see whether an alert arrives: safety-sync alerts test'
    : 'No alert is open, but not every stream is synced: safety-sync status';
  const missing = describeProblems(problems.filter(({ kind }) => kind === 'no_worker')).map(({ text }) =>
    terminal.colors.red(text),
  );
  return {
    json: {
      alerts: listed.map(withIsoTimes),
      is_well: isWell,
      worker_last_seen_at: toIso(workerSeenMs),
    },
    lines: () => (listed.length > 0 ? [table(), ...missing] : missing.length > 0 ? missing : [none]),
    code: isWell ? EXIT.ok : EXIT.failed,
  };
});

async function runTest(context: CommandContext, options: CommonOptions): Promise<number> {
  const { terminal, signal } = context;
  const config = configOf(context, {});
  const channels = configuredChannels(config.notifications);
  if (channels.length === 0) {
    throw new SafetySyncError('configuration_invalid', 'no channel is configured for alerts', {
      advice: 'Set ALERT_WEBHOOK_URL, or SMTP_URL with ALERT_EMAIL_FROM and ALERT_EMAIL_TO.',
    });
  }
  const redact = createRedactor(secretsOf(config));
  const tryChannel = async (channel: Channel) => {
    const { name, endpoint } = channel;
    try {
      const problem = await deliver(channel, testMessage(), signal);
      const advice = problem === null ? null : 'Correct ALERT_EMAIL_TO; the other recipients get alerts.';
      return { channel: name, place: endpoint, taken: problem === null, problem, advice };
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      return {
        channel: name,
        place: endpoint,
        taken: false,
        problem: redact(error.message),
        advice: error.advice,
      };
    }
  };
  const sent = await Promise.all(channels.map(tryChannel));
  const { green, red } = terminal.colors;
  return printOutput(context, options, {
    json: { channels: sent },
    lines: () =>
      sent.map(({ taken, place, problem, advice }) =>
        taken
          ? `${green('taken')} by ${place}: look whether it is there`
          : `${red('not taken')} by ${problem}\n  ${advice}`,
      ),
    code: sent.every(({ taken }) => taken) ? EXIT.ok : EXIT.failed,
  });
}

const test: Verb<CommonOptions> = {
  name: 'test',
  about:
    'send one test alert through each configured channel and print whether it was accepted; needs no database',
  options: [JSON_OPTION],
  run: runTest,
};

export const alerts: Verb<CommonOptions> = {
  name: 'alerts',
  about: 'show current alerts and whether each was sent',
  hasAccounts: true,
  options: [JSON_OPTION],
  verbs: [test],
  run: runAlerts,
};
