import { onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Channel } from '../../src/operate/alerts/channel.ts';
import { configuredChannels } from '../../src/operate/alerts/configured-channels.ts';
import { createNotifier, type Notifier } from '../../src/operate/alerts/notifier.ts';
import type { Outage } from '../../src/operate/health/outage-log.ts';
import { type AccountsRead, readAccounts } from '../../src/operate/status/read-accounts.ts';
import { createScheduledReport } from '../../src/operate/worker/scheduled-report.ts';
import { untilTestEnds } from './lifetime.ts';
import { serviceEnv, type TestWorker } from './worker.ts';

/** The alerts and reports of one worker. */
export interface NotifyingWorker extends Notifier {
  readonly lines: { readonly level: string; readonly text: string }[];
  /** Reads the warehouse. */
  read(): Promise<void>;
  /** Looks at what was read, and waits until what was due is sent. */
  send(): Promise<void>;
  lookAndSend(): Promise<void>;
}

interface NotifyOptions {
  readonly of?: TestWorker;
  readonly owner?: string;
  /** Default: those of the environment. */
  readonly channels?: readonly Channel[];
  readonly attemptMs?: number;
}

/** Workers that only notify, in a time that the test moves. */
export function createNotifyFixture(worker: TestWorker) {
  const fixture = {
    /** How far the test has moved the time of the database, and of timers. */
    passedMs: 0,
    /** How far our own clock has gone since, and the database's. */
    clockPassedMs: 0,
    /** How far our own clock is ahead of the database's. */
    workerAheadMs: 0,
    pendingMigrations: 0,
    outage: undefined as Outage | undefined,
    reset: () =>
      Object.assign(fixture, {
        passedMs: 0,
        clockPassedMs: 0,
        workerAheadMs: 0,
        pendingMigrations: 0,
        outage: undefined,
      }),
    async start(
      env: Readonly<Record<string, string>>,
      { of = worker, owner = 'host pid 1', ...options }: NotifyOptions = {},
    ): Promise<NotifyingWorker> {
      const config = loadConfig(
        { ...serviceEnv(of), LOG_LEVEL: 'silent', ...env },
        { needsService: true, isTerminal: false },
      );
      const clock = {
        now: () => Date.now() + fixture.clockPassedMs + fixture.workerAheadMs,
        monotonicMs: () => performance.now() + fixture.passedMs,
      };
      const signal = new AbortController().signal;
      const app = untilTestEnds(await createApp({ config, signal, say: () => undefined, clock }));
      const lines: { level: string; text: string }[] = [];
      // As the log of the program does.
      const hear =
        (level: string) =>
        (...said: unknown[]) =>
          void lines.push({ level, text: app.redact(String(said.at(-1))) });
      const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') };
      for (const account of app.accounts) Object.assign(account, { log });
      let accountsRead: AccountsRead | null = null;
      const { report } = config.notifications;
      // Workers that look together take turns on the connections of the test.
      const { connection } = of;
      const notifier = createNotifier({
        ...app,
        owner,
        db: connection.db,
        log: Object.assign(app.log, log),
        channels: options.channels ?? configuredChannels(config.notifications),
        report: report && createScheduledReport({ ...app, owner, connection }, report),
        monitor: {
          get latest() {
            return {
              accountsRead,
              problem: fixture.outage === undefined ? null : 'connect ECONNREFUSED 10.0.0.7',
            };
          },
        },
        databaseOutage: {
          get current() {
            return fixture.outage;
          },
          recordFailure: ({ code, message, advice }) => {
            fixture.outage ??= {
              ...{ dependency: 'database', sinceMs: clock.now(), failedRuns: 0, code, message, advice },
            };
          },
        },
        stopTimeoutMs: 200,
        attemptMs: options.attemptMs ?? 10_000,
        onOutcome: () => undefined,
      });
      onTestFinished(() => notifier.stop());
      async function read(): Promise<void> {
        if (fixture.outage !== undefined) return;
        const found = await readAccounts(connection, app.accountIds);
        accountsRead = {
          ...found,
          databaseNowMs: found.databaseNowMs + fixture.passedMs + fixture.clockPassedMs,
          readAtMs: found.readAtMs + fixture.clockPassedMs + fixture.workerAheadMs,
          readMonotonicMs: found.readMonotonicMs + fixture.passedMs,
          pendingMigrations: fixture.pendingMigrations,
        };
      }
      async function send(): Promise<void> {
        await notifier.look();
        await notifier.idle();
      }
      return Object.assign(Object.create(notifier) as Notifier, {
        lines,
        read,
        send,
        async lookAndSend() {
          await read();
          await send();
        },
      });
    },
    /** Lets the workers look at one moment. */
    async together(workers: readonly NotifyingWorker[]): Promise<void> {
      for (const one of workers) await one.read();
      await Promise.all(workers.map((one) => one.send()));
    },
    /** Moves the time, and lets the workers look one after the other. */
    async pass(ms: number, ...workers: readonly NotifyingWorker[]): Promise<void> {
      fixture.passedMs += ms;
      for (const one of workers) await one.lookAndSend();
    },
  };
  return fixture;
}
