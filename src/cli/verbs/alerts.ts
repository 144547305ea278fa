import { type Channel, deliver } from '../../operate/alerts/channel.ts';
import { type Condition, conditionsOf, lastSuccessOf } from '../../operate/alerts/conditions.ts';
import { configuredChannels } from '../../operate/alerts/configured-channels.ts';
import { textOfAlert } from '../../operate/alerts/events.ts';
import { testMessage } from '../../operate/alerts/message.ts';
import { secretsOf } from '../../config/secrets.ts';
import {
  type AlertRow,
  failedReportsOf,
  isAlert,
  readOutbox,
  textOfKey,
} from '../../operate/alerts/outbox.ts';
import { createIsOver } from '../../operate/alerts/plan-alerts.ts';
import { readLastingProblems } from '../../operate/alerts/lasting-problems.ts';
import { findWhatIsWrong } from '../../operate/worker/what-is-wrong.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatTime } from '../../shared/format.ts';
import { createRedactor } from '../../shared/redact.ts';
import { toIso } from '../../shared/time.ts';
import { readAccounts } from '../../operate/status/read-accounts.ts';
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

/** The alert of a condition that no worker has recorded yet. */
const UNRECORDED = {
  channel: null,
  tries: 0,
  problem: null,
  beganMs: null,
  endedMs: null,
  sentMs: null,
  dueMs: null,
  isOver: false,
};

/** Recorded alerts, then conditions without one. */
function listAlerts(
  rows: readonly AlertRow[],
  conditions: readonly Condition[],
  lastSuccessMs: (accountId: string) => number,
) {
  const isOver = createIsOver({ conditions, lastSuccessMs });
  const recorded = new Set(rows.map(textOfKey));
  return [
    ...rows.map((row) => ({
      ...row,
      // An outage of the database is no condition, because it cannot be read from the database.
      isOver: row.endedMs !== null || (row.event !== 'database_away' && isOver(row)),
    })),
    ...conditions.filter((one) => !recorded.has(textOfKey(one))).map((one) => ({ ...one, ...UNRECORDED })),
  ];
}

type Listed = ReturnType<typeof listAlerts>[number];

function stateOf({ channel, isOver, sentMs, endedMs, tries, problem }: Listed, hasChannels: boolean): string {
  if (channel === null)
    return hasChannels ? 'no worker has recorded it yet' : 'not sent: no channel is configured';
  if (isOver && endedMs === null) return 'over; no worker has recorded that yet';
  if (tries > 0) return `not accepted: ${problem ?? ''}`;
  return sentMs === null ? 'sent when it has lasted long enough' : 'sent';
}

const alertJson = ({ accountId, event, subject, channel, code, detail, tries, problem, ...at }: Listed) => ({
  account_id: accountId,
  event,
  subject,
  channel,
  code,
  detail,
  tries,
  problem,
  began_at: toIso(at.beganMs),
  ended_at: toIso(at.endedMs),
  sent_at: toIso(at.sentMs),
  due_at: toIso(at.dueMs),
});

const runAlerts = withApp<CommonOptions>(async ({ app, terminal }) => {
  const { accounts, accountIds, connection, db, config, clock } = app;
  const { freshnessBudgetMinutes, notifications } = config;
  const accountsRead = await readAccounts(connection, accountIds, { clock });
  const rows = await readOutbox(db, accountIds);
  const conditions = conditionsOf({
    accounts,
    accountsRead,
    lastingProblems: await readLastingProblems(db, accountIds),
    failedReports: notifications.report === undefined ? [] : failedReportsOf(rows),
    freshnessBudgetMinutes,
  });
  const wrong = await findWhatIsWrong(db, { accounts, accountsRead, config });
  const channels = configuredChannels(notifications).map(({ name }) => name);
  const hasChannels = channels.length > 0;
  const ofChannels = rows.filter(isAlert).filter(({ channel }) => !hasChannels || channels.includes(channel));
  const listed = listAlerts(
    ofChannels.toSorted((one, other) => one.beganMs - other.beganMs),
    conditions,
    (accountId) => lastSuccessOf({ accounts, accountsRead }, accountId),
  );
  const table = () =>
    renderRows<Listed>(
      listed,
      [
        { title: 'since', cellOf: ({ beganMs }) => formatTime(beganMs) },
        { ...accountColumn(accounts.length > 1), cellOf: ({ accountId }) => accountId },
        { title: 'what', cellOf: textOfAlert },
        { title: 'by', cellOf: ({ channel }) => channel ?? '–' },
        { title: 'state', cellOf: (one) => stateOf(one, hasChannels) },
      ],
      terminal,
    );
  const none = wrong.isWell
    ? 'No alert is open. To see whether an alert arrives: safety-sync alerts test'
    : 'No alert is open, but not every stream is synced: safety-sync status';
  const missing = wrong.workerMissing === null ? [] : [terminal.colors.red(wrong.workerMissing)];
  return {
    json: {
      alerts: listed.map(alertJson),
      is_well: wrong.isWell,
      worker_last_seen_at: toIso(wrong.workerSeenMs),
    },
    lines: () => (listed.length > 0 ? [table(), ...missing] : missing.length > 0 ? missing : [none]),
    code: wrong.isWell ? EXIT.ok : EXIT.failed,
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
