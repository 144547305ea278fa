/** Recipients of the worker's messages: alerts go to a webhook and by mail, the report by mail and into a directory. */
import { type AccountConfig, requireHttps } from './account-config.ts';
import { isNamed, type ReadVariables, requireSet } from './read-variables.ts';

export type NotificationConfig = ReturnType<typeof notificationsOf>;
export type MailConfig = NonNullable<NotificationConfig['mail']>;
export type ReportConfig = NonNullable<NotificationConfig['report']>;

/** Adds settings that exclude each other to the problems. `accounts`: some may have recipients of their own for their reports. */
export function notificationsOf(
  read: ReadVariables,
  accounts: readonly Pick<AccountConfig, 'reportEmailTo'>[],
) {
  const { values, problems } = read;
  const { SMTP_URL: smtpUrl, ALERT_EMAIL_FROM: from, REPORT_CRON: cron, REPORT_DIR: folder } = values;
  const alertEmailTo = values.ALERT_EMAIL_TO ?? [];
  const emailTo = values.REPORT_EMAIL_TO ?? [];
  const isMailed = {
    ALERT_EMAIL_TO: alertEmailTo.length > 0,
    REPORT_EMAIL_TO: emailTo.length > 0,
    'report_email_to of SAFETY_ACCOUNTS_FILE': accounts.some(({ reportEmailTo: to }) => to !== undefined),
  };
  const mailed = Object.entries(isMailed).flatMap(([name, is]) => (is ? [name] : []));
  if (mailed.length > 0) {
    requireSet(read, 'SMTP_URL', `the mail server for ${mailed.join(' and ')}`);
    requireSet(read, 'ALERT_EMAIL_FROM', `the sender of what goes to ${mailed.join(' and ')}`);
  }
  const hasPlace = folder !== undefined || mailed.some((name) => name !== 'ALERT_EMAIL_TO');
  if (hasPlace) requireSet(read, 'REPORT_CRON', 'when the report is made, as cron');
  if (typeof cron === 'string' && !hasPlace && !isNamed(problems, 'REPORT_')) {
    problems.push('REPORT_CRON needs a place for the report: set REPORT_EMAIL_TO, REPORT_DIR, or both');
  }
  requireHttps(read, 'ALERT_WEBHOOK_URL', 'alerts');
  requireHttps(read, 'ALERT_HEARTBEAT_URL', 'alerts');
  return {
    /** The URL is enough to post there, so it is a secret as a whole. */
    webhookUrl: values.ALERT_WEBHOOK_URL,
    /** A GET to this URL reports that every stream is fresh, so the whole URL is a secret. */
    heartbeatUrl: values.ALERT_HEARTBEAT_URL,
    /** undefined: nothing is mailed. The URL usually holds a password. */
    mail: smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from },
    /** Empty: alerts are not mailed. */
    alertEmailTo,
    /** Duration of a problem before its alert is sent. */
    alertAfterMinutes: values.ALERT_AFTER_MINUTES,
    /** undefined: the report is not sent automatically. Without recipients it is not mailed, without a folder not written. */
    report: typeof cron === 'string' && hasPlace ? { cron, emailTo, folder } : undefined,
  };
}
