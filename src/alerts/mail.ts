import { isLoopback } from '../config/account-config.ts';
import type { MailConfig } from '../config/telling-config.ts';
import { createRedactor, type Redact } from '../shared/redact.ts';
import { ATTEMPT_MS, type Channel, excerptOf, NotTaken, OF_ECHOES } from './channel.ts';

/** What nodemailer says of a failure. */
interface SmtpFailure {
  readonly code?: string;
  /** Of the mail server: 4xx passes, 5xx stays. */
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
}

/** A password goes over the network under TLS only, unless the URL itself allows it. */
function needsTls(smtpUrl: string): boolean {
  const { protocol, hostname, password } = new URL(smtpUrl);
  return protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
}

function toNotTaken(
  { code = 'ESMTP', responseCode, response, command }: SmtpFailure,
  redact: Redact,
): NotTaken {
  const said = excerptOf(response ?? '', redact);
  const where = command === undefined || command === 'CONN' ? '' : ` at ${command}`;
  const why = said === '' ? code : `${code}${where}: ${said}`;
  return new NotTaken(why, responseCode !== undefined && responseCode >= 500);
}

/** Bytes of one response: a server that says more than that is no mail server. */
const MOST_RESPONSE_BYTES = 16 * 1024;

/** As the server is sent them. */
function secretsOf(smtpUrl: string): string[] {
  const { username, password } = new URL(smtpUrl);
  const [user, plain] = [decodeURIComponent(username), decodeURIComponent(password)];
  return plain === '' ? [] : [plain, `\0${user}\0${plain}`];
}

/** Each message is one connection: they are rare, and a server that hangs takes nothing else with it. */
export function createMail({ smtpUrl, from }: MailConfig, to: readonly string[]): Channel {
  const redact = createRedactor(secretsOf(smtpUrl), OF_ECHOES);
  return {
    name: 'mail',
    place: `the mail server ${new URL(smtpUrl).host}`,
    async send({ subject, text, html, attachments = [] }, signal) {
      // Loaded when there is something to send: most processes never do.
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        ...(needsTls(smtpUrl) ? { requireTLS: true } : {}),
        url: smtpUrl,
        connectionTimeout: ATTEMPT_MS,
        greetingTimeout: ATTEMPT_MS,
        socketTimeout: ATTEMPT_MS,
        dnsTimeout: ATTEMPT_MS,
        maxResponseSize: MOST_RESPONSE_BYTES,
        // Nothing that a message names is read from a disk or fetched.
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      try {
        await transport.sendMail({
          signal,
          from,
          to: [...to],
          subject,
          text,
          html,
          attachments: attachments.map(({ filename, contentType, content }) => ({
            filename,
            contentType,
            content,
          })),
          // Out-of-office replies to a worker help nobody.
          headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
        });
      } catch (error) {
        throw toNotTaken(error as SmtpFailure, redact);
      } finally {
        transport.close();
      }
    },
  };
}
