import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';

export const MAIL_PASSWORD = 'mail-canary-password';

type Mail = Awaited<ReturnType<typeof toMail>>;

async function toMail(raw: Buffer, from: string, to: readonly string[]) {
  const {
    subject = '',
    text = '',
    attachments,
  } = await PostalMime.parse(raw, { attachmentEncoding: 'arraybuffer' });
  /** By name. */
  const files = Object.fromEntries(
    attachments.map(({ filename, content }) => [filename ?? '', Buffer.from(content as ArrayBuffer)]),
  );
  return { from, to, subject, text, files };
}

const refusal = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode });

/** An SMTP server that accepts mail, or refuses every login (with the words of the client) or every recipient. */
export async function startMailServer() {
  const box = { mails: [] as Mail[], behaviour: 'take' as 'take' | 'refuse' | 'unauthorized' };
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authMethods: ['PLAIN'],
    onAuth({ username, password }, _session, callback) {
      const words = Buffer.from(`\0${username ?? ''}\0${password ?? ''}`).toString('base64');
      if (box.behaviour === 'unauthorized') callback(refusal(535, `no: AUTH PLAIN ${words}`));
      else callback(null, { user: username });
    },
    onRcptTo(_address, _session, callback) {
      callback(box.behaviour === 'refuse' ? refusal(550, 'no such user') : null);
    },
    onData(stream, { envelope: { mailFrom, rcptTo } }, callback) {
      const take = async () => {
        const from = mailFrom === false ? '' : mailFrom.address;
        box.mails.push(
          await toMail(
            await buffer(stream),
            from,
            rcptTo.map(({ address }) => address),
          ),
        );
      };
      void take().then(() => callback(null), callback);
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return Object.assign(box, {
    url: `smtp://worker:${MAIL_PASSWORD}@127.0.0.1:${port}`,
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  });
}
