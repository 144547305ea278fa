import type { MailConfig } from '../config/telling-config.ts';
import { createRedactor, type Redact } from '../shared/redact.ts';
import { type Channel, excerptOf, NotTaken, OF_ECHOES } from './channel.ts';

/** What nodemailer says of a failure. */
interface SmtpFailure {
  readonly code?: string;
  /** Of the mail server: 4xx passes, 5xx stays. */
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
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
      const { openTransport } = await import('./mail-transport.ts');
      const transport = openTransport(smtpUrl);
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
