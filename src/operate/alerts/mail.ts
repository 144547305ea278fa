import { isLoopback } from '../../config/account-config.ts';
import type { MailConfig } from '../../config/notification-config.ts';
import { createRedactor, type Redact } from '../../shared/redact.ts';
import { ATTEMPT_MS, type Channel, ECHO_REDACTION, excerptOf, NotAccepted } from './channel.ts';

/** The error of nodemailer. */
interface SmtpFailure {
  readonly code?: string;
  readonly response?: string;
  readonly command?: string;
}

function toNotAccepted({ code = 'ESMTP', response, command }: SmtpFailure, redact: Redact): NotAccepted {
  const excerpt = excerptOf(response ?? '', redact);
  const where = command === undefined || command === 'CONN' ? '' : ` at ${command}`;
  return new NotAccepted(excerpt === '' ? code : `${code}${where}: ${excerpt}`);
}

/** The password alone, and with the user in the form of SMTP's AUTH PLAIN. */
function mailSecrets(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  const [user, plain] = [decodeURIComponent(username), decodeURIComponent(password)];
  return plain === '' ? [] : [plain, `\0${user}\0${plain}`];
}

/** A password is sent over TLS only, unless the URL allows plain text. */
function needsTls(smtpUrl: string): boolean {
  const { protocol, hostname, password } = new URL(smtpUrl);
  return protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
}

/** `Safety: east <safety@example.com>`: the parser of nodemailer would take such a name for a group or a comment. */
function toAddress(text: string): { name: string; address: string } {
  const [, name = '', address = text] = /^(.*)<(.*)>$/.exec(text) ?? [];
  return { name: name.trim(), address };
}

const LIMITS = {
  connectionTimeout: ATTEMPT_MS,
  greetingTimeout: ATTEMPT_MS,
  socketTimeout: ATTEMPT_MS,
  dnsTimeout: ATTEMPT_MS,
  /** Bytes. A mail server needs no longer responses. */
  maxResponseSize: 16 * 1024,
  // Attachments by path or URL are disabled: a message cannot make this process read files or fetch URLs.
  disableFileAccess: true,
  disableUrlAccess: true,
};

/** Each message uses its own connection: messages are rare, and a server that hangs blocks no other message. */
export function createMail({ smtpUrl, from }: MailConfig, to: readonly string[]): Channel {
  const redact = createRedactor(mailSecrets(smtpUrl), ECHO_REDACTION);
  return {
    name: 'mail',
    endpoint: `the mail server ${new URL(smtpUrl).host}`,
    async send({ subject, text, html, attachments = [] }, signal) {
      // Loaded on first use, because most processes send no mail.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        ...LIMITS,
        url: smtpUrl,
        ...(needsTls(smtpUrl) ? { requireTLS: true } : {}),
      });
      try {
        const { rejectedErrors = [] } = await transport.sendMail({
          signal,
          from: toAddress(from),
          to: to.map(toAddress),
          subject,
          text,
          html,
          attachments: [...attachments],
          // Suppresses out-of-office replies.
          headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
        });
        return rejectedErrors.map(
          ({ recipient, response }) => `${recipient} (${excerptOf(response ?? '', redact)})`,
        );
      } catch (error) {
        throw toNotAccepted(error as SmtpFailure, redact);
      } finally {
        transport.close();
      }
    },
  };
}
