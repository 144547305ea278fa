/** Builds the worker's notifications: alerts, heartbeat and scheduled safety reports. */
import type { Channel } from '../alerts/channel.ts';
import { createHeartbeat, type Heartbeat } from '../alerts/heartbeat.ts';
import { createMail } from '../alerts/mail.ts';
import { createNotifier, type Notifier, type ReportDestination } from '../alerts/notifier.ts';
import type { App } from '../../app.ts';
import { placeOf } from '../../config/account-config.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Metrics } from '../status/metrics.ts';
import type { Status } from '../status/status.ts';
import { VERSION } from '../../version.ts';
import { createScheduledReport } from './scheduled-report.ts';
import type { Monitor } from './monitor.ts';

interface NotifierParts {
  readonly monitor: Pick<Monitor, 'latest'>;
  readonly metrics: Metrics;
  readonly channels: readonly Channel[];
}

/** undefined: REPORT_CRON is not set. */
function buildReport({ config, accounts, warehouse, owner, clock }: App): ReportDestination | undefined {
  const { report, mail } = config.notifications;
  if (report === undefined) return undefined;
  const mailTo = (to: readonly string[]): Channel | undefined =>
    mail === undefined || to.length === 0 ? undefined : createMail(mail, to);
  const ofAll = mailTo(report.emailTo);
  return createScheduledReport({
    config: report,
    accounts: accounts.map(
      ({ id, log, config: { schedule, reportTitle, reportEmailTo: own, equipmentTypes } }) => ({
        id,
        log,
        timezone: schedule.timezone,
        reportTitle,
        equipmentTypes,
        mail: own === undefined ? ofAll : mailTo(own),
      }),
    ),
    connection: warehouse.connection,
    recordUrls: config.recordUrls,
    clock,
    version: VERSION,
    owner,
  });
}

export function buildNotifier(app: App, { monitor, metrics, channels }: NotifierParts): Notifier {
  const { config, accounts, warehouse, databaseOutage, owner, clock, log, redact } = app;
  return createNotifier({
    channels,
    report: buildReport(app),
    accounts: accounts.map(({ id, offReasons, config: account }) => ({
      id,
      offReasons,
      timezone: account.reportingTimezone ?? 'UTC',
      place: placeOf(account),
    })),
    latest: () => monitor.latest,
    outage: () => databaseOutage.current,
    db: warehouse.connection.db,
    clock,
    version: VERSION,
    owner,
    afterMs: config.notifications.alertAfterMinutes * MINUTE_MS,
    freshnessBudgetMinutes: config.freshnessBudgetMinutes,
    log,
    redact,
    onSent: (channel, alerts) => metrics.recordAlert(channel, 'sent', alerts),
    onNotSent: (channel, alerts) => metrics.recordAlert(channel, 'not_taken', alerts),
  });
}

/** undefined: ALERT_HEARTBEAT_URL is not set. */
export function buildHeartbeat(
  { config, log, clock }: App,
  { status }: { readonly status: () => Status },
): Heartbeat | undefined {
  const { heartbeatUrl: url } = config.notifications;
  const isFresh = (): boolean => {
    const { isReady, accounts } = status();
    const isScheduled = accounts.some(({ streams }) => streams.some((stream) => stream.isScheduled));
    return isReady && isScheduled && accounts.every((account) => account.isReady);
  };
  return url === undefined ? undefined : createHeartbeat({ url, isFresh, log, clock });
}
