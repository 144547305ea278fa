import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Channel } from '../../src/operate/alerts/channel.ts';
import { configuredChannels, createNotifier, type Notifier } from '../../src/operate/worker/notifier.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import type { WarehouseFacts } from '../../src/operate/status/facts.ts';
import { buildStatus } from '../../src/operate/status/status.ts';
import { createScheduledReport } from '../../src/operate/worker/scheduled-report.ts';
import { untilTestEnds } from './lifetime.ts';
import { serviceEnv, type TestWorker } from './world.ts';

/** The alerts and reports of one worker. */
export interface NotifyingWorker {
  readonly notifier: Notifier;
  readonly lines: { readonly level: string; readonly text: string }[];
  /** Reads the warehouse, and sends what is due. */
  look(): Promise<void>;
}

interface NotifyOptions {
  readonly owner?: string;
  /** Default: those of the environment. */
  readonly channels?: readonly Channel[];
}

/** Workers that only notify, in a time that the test moves. */
export function createNotifyFixture(worker: TestWorker) {
  const fixture = {
    passedMs: 0,
    away: null as WarehouseFacts['problem'],
    async start(
      env: Readonly<Record<string, string>>,
      { owner = 'host pid 1', channels }: NotifyOptions = {},
    ): Promise<NotifyingWorker> {
      const config = loadConfig(
        { ...serviceEnv(worker), LOG_LEVEL: 'silent', ...env },
        { needsService: true, isTerminal: false },
      );
      const { signal } = new AbortController();
      const app = Object.assign(untilTestEnds(await createApp({ config, signal, say: () => undefined })), {
        owner,
      });
      const lines: { level: string; text: string }[] = [];
      const hear =
        (level: string) =>
        (...said: unknown[]) =>
          void lines.push({ level, text: app.redact(String(said.at(-1))) });
      const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') };
      Object.assign(app.log, log);
      for (const account of app.accounts) Object.assign(account, { log });
      let read: Awaited<ReturnType<typeof readAccounts>> | null = null;
      const status = () =>
        buildStatus({
          freshnessBudgetMinutes: config.freshnessBudgetMinutes,
          owner,
          nowMs: Date.now() + fixture.passedMs,
          uptimeMs: 0,
          worker: 'running',
          migrationWaits: null,
          ...notifier.status,
          warehouse: {
            accountsRead: read && {
              ...read,
              databaseNowMs: read.databaseNowMs + fixture.passedMs,
              readAtMs: read.readAtMs + fixture.passedMs,
            },
            problem: fixture.away,
          },
          accounts: app.accounts,
        });
      const { report } = config.notifications;
      const lookAtReports = report && createScheduledReport(app, report, () => status().nowMs);
      const notifier: Notifier = createNotifier({
        app,
        onAway: () => undefined,
        channels: channels ?? configuredChannels(config.notifications),
        status,
      });
      return {
        notifier,
        lines,
        async look() {
          if (fixture.away === null) read = await readAccounts(app.connection, app.accountIds);
          await lookAtReports?.(signal);
          await notifier.look(signal);
        },
      };
    },
    /** Moves the time, and lets the workers look one after the other. */
    async pass(ms: number, ...workers: readonly NotifyingWorker[]): Promise<void> {
      fixture.passedMs += ms;
      for (const one of workers) await one.look();
    },
  };
  return fixture;
}
