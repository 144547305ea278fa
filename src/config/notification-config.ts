/** Recipients of the worker's messages: alerts go to a webhook and by mail, the report by mail and into a directory. */
import { type AccountConfig, isPlainHttp } from './account-config.ts';
import { isNamed, type ReadVariables } from './read-variables.ts';

export interface MailConfig {
  /** Usually holds a password. */
  readonly smtpUrl: string;
  readonly from: string;
}

export interface ReportConfig {
  /** In the time zone of the account's schedules. */
  readonly cron: string;
  /** Empty: it is not mailed. */
  readonly emailTo: readonly string[];
  /** undefined: it is written to no file. */
  readonly folder: string | undefined;
}

export interface NotificationConfig {
  /** The URL is enough to post there, so it is a secret as a whole. */
  readonly webhookUrl: string | undefined;
  /** A GET there reports that every stream is fresh: a secret as a whole. */
  readonly heartbeatUrl: string | undefined;
  /** undefined: nothing is mailed. */
  readonly mail: MailConfig | undefined;
  /** Empty: alerts are not mailed. */
  readonly alertEmailTo: readonly string[];
  /** Duration of a problem before its alert is sent. */
  readonly alertAfterMinutes: number;
  /** undefined: the report is not sent automatically. */
  readonly report: ReportConfig | undefined;
}

const REPORT_KEY = 'report_email_to of SAFETY_ACCOUNTS_FILE';

/** Settings that exclude each other are problems. `accounts`: some may have recipients of their own for their reports. */
export function notificationsOf(
  { values, problems: known }: ReadVariables,
  accounts: readonly Pick<AccountConfig, 'reportEmailTo'>[],
): {
  readonly config: NotificationConfig;
  readonly problems: readonly string[];
} {
  const { SMTP_URL: smtpUrl, ALERT_EMAIL_FROM: from, REPORT_CRON: cron, REPORT_DIR: folder } = values;
  const alertEmailTo = values.ALERT_EMAIL_TO ?? [];
  const emailTo = values.REPORT_EMAIL_TO ?? [];
  const problems: string[] = [];
  const lacks = (name: string, value: unknown, why: string): void => {
    if (value === undefined && !isNamed(known, name)) problems.push(`${name} is not set: ${why}`);
  };
  const mailed = [
    ...(alertEmailTo.length > 0 ? ['ALERT_EMAIL_TO'] : []),
    ...(emailTo.length > 0 ? ['REPORT_EMAIL_TO'] : []),
    ...(accounts.some(({ reportEmailTo }) => reportEmailTo !== undefined) ? [REPORT_KEY] : []),
  ];
  if (mailed.length > 0) {
    lacks('SMTP_URL', smtpUrl, `the mail server that ${mailed.join(' and ')} need`);
    lacks('ALERT_EMAIL_FROM', from, `the sender of what goes to ${mailed.join(' and ')}`);
  }
  const hasPlace = emailTo.length > 0 || folder !== undefined || mailed.includes(REPORT_KEY);
  if (hasPlace) lacks('REPORT_CRON', cron, 'when the report is made, as cron');
  if (typeof cron === 'string' && !hasPlace && !isNamed(known, 'REPORT_')) {
    problems.push('REPORT_CRON needs a place for the report: set REPORT_EMAIL_TO, REPORT_DIR, or both');
  }
  for (const name of ['ALERT_WEBHOOK_URL', 'ALERT_HEARTBEAT_URL'] as const) {
    const url = values[name] === undefined ? undefined : new URL(values[name]);
    if (url !== undefined && isPlainHttp(url) && !values.SAFETY_ALLOW_INSECURE_HTTP) {
      problems.push(
        `${name}: plain http:// to ${url.hostname} would send alerts in the clear; use https://, or set SAFETY_ALLOW_INSECURE_HTTP=true`,
      );
    }
  }
  return {
    config: {
      webhookUrl: values.ALERT_WEBHOOK_URL,
      heartbeatUrl: values.ALERT_HEARTBEAT_URL,
      mail: smtpUrl === undefined || from === undefined ? undefined : { smtpUrl, from },
      alertEmailTo,
      alertAfterMinutes: values.ALERT_AFTER_MINUTES,
      report: typeof cron === 'string' && hasPlace ? { cron, emailTo, folder } : undefined,
    },
    problems,
  };
}
