import { type Channel, tell } from '../alerts/channel.ts';
import { configuredChannels } from '../alerts/configured-channels.ts';
import { textOfAlert } from '../alerts/events.ts';
import { testMessage } from '../alerts/message.ts';
import { secretsOf } from '../config/secrets.ts';
import { type AlertRow, readAlerts } from '../alerts/ledger.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { formatTime } from '../shared/format.ts';
import { createRedactor } from '../shared/redact.ts';
import { toIso } from '../shared/time.ts';
import { EXIT } from './run-results.ts';
import { accountColumn, renderTable } from './terminal.ts';
import {
  type CommonOptions,
  type CommandContext,
  configOf,
  JSON_OPTION,
  type Verb,
  withApp,
} from './verb.ts';

function stateOf({ toldMs, tries, problem }: AlertRow): string {
  if (tries > 0) return `not taken: ${problem ?? ''}`;
  return toldMs === null ? 'told when it has lasted long enough' : 'told';
}

function printAlerts(rows: readonly AlertRow[], isMany: boolean, { terminal }: CommandContext): void {
  if (rows.length === 0) {
    terminal.print('There is nothing to tell. To see whether an alert arrives: safety-sync alerts test');
    return;
  }
  terminal.print(
    renderTable(
      [{ title: 'since' }, accountColumn(isMany), { title: 'what' }, { title: 'by' }, { title: 'state' }],
      rows.map((row) => [
        formatTime(row.beganMs),
        row.accountId,
        textOfAlert(row),
        row.channel,
        stateOf(row),
      ]),
      terminal,
    ),
  );
}

async function runAlerts(context: CommandContext, options: CommonOptions): Promise<number> {
  return await withApp(context, options, async ({ accounts, warehouse }) => {
    const all = await readAlerts(
      warehouse.connection.db,
      accounts.map(({ id }) => id),
    );
    const rows = all.toSorted((one, other) => one.beganMs - other.beganMs);
    if (options.json) {
      const alerts = rows.map(({ accountId, beganMs, endedMs, toldMs, dueMs, ...row }) => ({
        account_id: accountId,
        ...row,
        began_at: toIso(beganMs),
        ended_at: toIso(endedMs),
        told_at: toIso(toldMs),
        due_at: toIso(dueMs),
      }));
      context.terminal.print(JSON.stringify({ alerts }));
    } else printAlerts(rows, accounts.length > 1, context);
    return EXIT.ok;
  });
}

/** Why it was not taken; null: it was. */
async function tryChannel(channel: Channel, signal: AbortSignal): Promise<SafetySyncError | null> {
  try {
    // Once: whoever waits for it can try again himself.
    await tell({ channel, message: testMessage(), signal, attempts: 1 });
    return null;
  } catch (error) {
    if (error instanceof SafetySyncError) return error;
    throw error;
  }
}

async function runTest(context: CommandContext, { json }: CommonOptions): Promise<number> {
  const { terminal, signal } = context;
  const config = configOf(context, {});
  const channels = configuredChannels(config.telling);
  if (channels.length === 0) {
    throw new SafetySyncError('configuration_invalid', 'nobody is told of anything', {
      advice: 'Set ALERT_WEBHOOK_URL, or SMTP_URL with ALERT_EMAIL_FROM and ALERT_EMAIL_TO.',
    });
  }
  const redact = createRedactor(secretsOf(config));
  const { green, red } = terminal.colors;
  const told = await Promise.all(
    channels.map(async (channel) => ({ channel, error: await tryChannel(channel, signal) })),
  );
  if (json) {
    const results = told.map(({ channel: { name, place }, error }) => ({
      channel: name,
      place,
      taken: error === null,
      problem: error === null ? null : redact(error.message),
      advice: error?.advice ?? null,
    }));
    terminal.print(JSON.stringify({ channels: results }));
  } else {
    for (const { channel, error } of told) {
      if (error === null) terminal.print(`${green('taken')} by ${channel.place}: look whether it is there`);
      else terminal.print(`${red('not taken')} by ${redact(error.message)}\n  ${error.advice}`);
    }
  }
  return told.every(({ error }) => error === null) ? EXIT.ok : EXIT.failed;
}

const test: Verb<CommonOptions> = {
  name: 'test',
  about: 'sends one alert by each way that is configured, and says whether it was taken; needs no database',
  options: [JSON_OPTION],
  run: runTest,
};

export const alerts: Verb<CommonOptions> = {
  name: 'alerts',
  about: 'what is wrong now and whether somebody was told; test tells somebody',
  hasAccounts: true,
  options: [JSON_OPTION],
  verbs: [test],
  run: runAlerts,
};
