import { type Channel, deliver } from '../../operate/alerts/channel.ts';
import { configuredChannels } from '../../operate/alerts/configured-channels.ts';
import { alertText, testMessage } from '../../operate/alerts/message.ts';
import { type AlertRow, isAlert, readOutbox, textOfKey } from '../../operate/alerts/outbox.ts';
import { keyOf, type Recorded, recordedOf } from '../../operate/alerts/plan-alerts.ts';
import { secretsOf } from '../../config/secrets.ts';
import { describeProblems } from '../../operate/status/problem-words.ts';
import { readProblems } from '../../operate/worker/what-is-wrong.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatTime } from '../../shared/format.ts';
import { createRedactor } from '../../shared/redact.ts';
import { toIso } from '../../shared/time.ts';
import { EXIT } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import {
  type CommonOptions,
  type CommandContext,
  configOf,
  JSON_OPTION,
  printOutput,
  type Verb,
  withApp,
} from '../verb.ts';

type Listed = AlertRow | Recorded;

const isRow = (one: Listed): one is AlertRow => 'channel' in one;

/** `present`: the keys of the problems that last. */
function stateOf(one: Listed, present: ReadonlySet<string>, hasChannels: boolean): string {
  if (!isRow(one))
    return hasChannels ? 'no worker has recorded it yet' : 'not sent: no channel is configured';
  if (one.endedMs !== null || !present.has(textOfKey(one))) return 'over; that was not told yet';
  if (one.tries > 0) return `not accepted: ${one.problem ?? ''}`;
  return one.sentMs === null ? 'sent when it has lasted long enough' : 'sent';
}

function toJsonAlert(one: Listed) {
  const { accountId, subject, code, detail } = one;
  const row = isRow(one) ? one : null;
  return {
    account_id: accountId,
    event: isRow(one) ? one.event : one.kind,
    subject,
    channel: row?.channel ?? null,
    code,
    detail,
    tries: row?.tries ?? 0,
    problem: row?.problem ?? null,
    began_at: toIso(row?.beganMs ?? null),
    ended_at: toIso(row?.endedMs ?? null),
    sent_at: toIso(row?.sentMs ?? null),
    due_at: toIso(row?.dueMs ?? null),
  };
}

/** Recorded alerts, oldest first, then problems that no worker has recorded. */
const runAlerts = withApp<CommonOptions>(async ({ app, terminal }) => {
  const { accounts, accountIds, db, config } = app;
  const { problems, isWell, workerSeenMs } = await readProblems(app);
  const recorded = recordedOf({ problems });
  const channels = configuredChannels(config.notifications).map(({ name }) => name);
  const hasChannels = channels.length > 0;
  const rows = (await readOutbox(db, accountIds))
    .filter(isAlert)
    .filter(({ channel }) => !hasChannels || channels.includes(channel))
    .toSorted((one, other) => one.beganMs - other.beganMs);
  const known = new Set(rows.map(textOfKey));
  const listed: Listed[] = [...rows, ...recorded.filter((one) => !known.has(keyOf(one)))];
  const present = new Set(recorded.map(keyOf));
  const table = () =>
    renderRows<Listed>(
      listed,
      [
        { title: 'since', cellOf: (one) => formatTime(isRow(one) ? one.beganMs : null) },
        { ...accountColumn(accounts.length > 1), cellOf: ({ accountId }) => accountId },
        {
          title: 'what',
          cellOf: (one) => alertText({ ...one, event: isRow(one) ? one.event : one.kind }, [one.subject]),
        },
        { title: 'by', cellOf: (one) => (isRow(one) ? one.channel : '–') },
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
      alerts: listed.map(toJsonAlert),
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
      const problem = await deliver({ channel, message: testMessage(), signal });
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
