/** Builds the worker's notifications: alerts, heartbeat and scheduled safety reports. */
import type { Channel } from '../alerts/channel.ts';
import { createHeartbeat } from '../alerts/heartbeat.ts';
import { createMail } from '../alerts/mail.ts';
import { createNotifier, type Notifier } from '../alerts/notifier.ts';
import type { App } from '../../app.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Metrics } from '../status/metrics.ts';
import type { Status } from '../status/build-status.ts';
import { VERSION } from '../../version.ts';
import { createScheduledReport } from './scheduled-report.ts';
import type { Monitor } from './monitor.ts';

interface NotifierSources {
  readonly monitor: Pick<Monitor, 'latest'>;
  readonly metrics: Metrics;
  readonly channels: readonly Channel[];
}

export function buildNotifier(app: App, { monitor, metrics, channels }: NotifierSources): Notifier {
  const { config, accounts, warehouse, databaseOutage, owner, clock, log, redact } = app;
  const { connection } = warehouse;
  const { recordUrls, freshnessBudgetMinutes, notifications } = config;
  const { report, mail, alertAfterMinutes } = notifications;
  const mailTo = mail && ((to: readonly string[]) => createMail(mail, to));
  const common = { accounts, clock, version: VERSION, owner };
  return createNotifier({
    ...common,
    channels,
    report: report && createScheduledReport({ ...common, config: report, mailTo, connection, recordUrls }),
    latest: () => monitor.latest,
    outage: () => databaseOutage.current,
    db: connection.db,
    afterMs: alertAfterMinutes * MINUTE_MS,
    freshnessBudgetMinutes,
    log,
    redact,
    onOutcome: metrics.recordAlert,
  });
}

/** undefined: ALERT_HEARTBEAT_URL is not set. */
export function buildHeartbeat({ config, log, clock }: App, { status }: { readonly status: () => Status }) {
  const { heartbeatUrl: url } = config.notifications;
  const isFresh = (): boolean => {
    const { isReady, accounts } = status();
    const isScheduled = accounts.some(({ streams }) => streams.some((stream) => stream.isScheduled));
    return isReady && isScheduled && accounts.every((account) => account.isReady);
  };
  return url === undefined ? undefined : createHeartbeat({ url, isFresh, log, clock });
}
