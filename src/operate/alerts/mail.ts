import { isLoopback } from '../../shared/loopback.ts';
import type { MailConfig } from '../../config/notification-config.ts';
import { createRedactor, type Redact } from '../../shared/redact.ts';
import { ATTEMPT_MS, type Channel, NotAccepted } from './channel.ts';

/** Characters of a refusing response that are shown. */
const SHOWN_CHARACTERS = 120;

/** The password alone, and with the user in the form of SMTP's AUTH PLAIN: a server may echo both. */
function mailSecrets(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  const [user, plain] = [decodeURIComponent(username), decodeURIComponent(password)];
  return plain === '' ? [] : [plain, `\0${user}\0${plain}`];
}

const excerptOf = (response: string | undefined, redact: Redact): string =>
  redact(response ?? '')
    .replace(/\s+/g, ' ')
    .slice(0, SHOWN_CHARACTERS);

/** A password is sent over TLS only, unless the server is this machine. */
function needsTls(smtpUrl: string): boolean {
  const { protocol, hostname, password } = new URL(smtpUrl);
  return protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
}

/** Each message uses its own connection: messages are rare, and a server that hangs blocks no other message. */
export function createMail({ smtpUrl, from }: MailConfig, to: readonly string[]): Channel {
  const redact = createRedactor(mailSecrets(smtpUrl));
  return {
    name: 'mail',
    endpoint: `the mail server ${new URL(smtpUrl).host}`,
    async send({ subject, text, attachments = [] }, signal) {
      // Loaded on first use, because most processes send no mail.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        url: smtpUrl,
        requireTLS: needsTls(smtpUrl),
        ...{ connectionTimeout: ATTEMPT_MS, greetingTimeout: ATTEMPT_MS, socketTimeout: ATTEMPT_MS },
        // Attachments by path or URL: a message cannot make this process read files or fetch URLs.
        ...{ disableFileAccess: true, disableUrlAccess: true },
      });
      try {
        const { rejectedErrors = [] } = await transport.sendMail({
          ...{ signal, from, to: [...to], subject, text, attachments: [...attachments] },
          // Suppresses out-of-office replies.
          headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
        });
        return rejectedErrors.map(
          ({ recipient, response }) => `${recipient} (${excerptOf(response, redact)})`,
        );
      } catch (error) {
        const { code = 'ESMTP', response } = error as { code?: string; response?: string };
        throw new NotAccepted([code, excerptOf(response, redact)].filter((part) => part !== '').join(': '));
      } finally {
        transport.close();
      }
    },
  };
}
