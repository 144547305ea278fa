import { type AddressInfo, createServer, type Socket } from 'node:net';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  /** By content type, decoded. */
  readonly parts: Readonly<Record<string, string>>;
  /** Attachments by file name. */
  readonly files: Readonly<Record<string, Buffer>>;
}

/** A small SMTP server that accepts mail, or refuses logins or recipients. */
export interface MailServer {
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** `refuse`: refuses every recipient; `unauthorized`: refuses every login. */
  behaviour: 'take' | 'refuse' | 'unauthorized';
  close(): Promise<void>;
}

export const MAIL_PASSWORD = 'mail-canary-password';

function decode(body: string, encoding: string): Buffer {
  if (/base64/i.test(encoding)) return Buffer.from(body, 'base64');
  if (!/quoted-printable/i.test(encoding)) return Buffer.from(body);
  const bytes = body
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

/** `=?UTF-8?Q?…?=` */
function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?(.*?)\?=/gi, (_, how: string, word: string) =>
      how.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString()
        : decode(word.replaceAll('_', ' '), 'quoted-printable').toString(),
    );
}

const headerOf = (head: string, name: string): string =>
  new RegExp(`^${name}: *(.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(head)?.[1]?.replace(/\r?\n[ \t]+/g, ' ') ?? '';

function readParts(
  entity: string,
  into: {
    parts: Record<string, string>;
    files: Record<string, Buffer>;
  },
): void {
  const [head = '', ...rest] = entity.split(/\r?\n\r?\n/);
  const body = rest.join('\r\n\r\n');
  const type = headerOf(head, 'content-type');
  const boundary = /boundary="?([^";]+)"?/.exec(type)?.[1];
  if (boundary !== undefined) {
    for (const part of body.split(`--${boundary}`).slice(1, -1)) readParts(part.trimStart(), into);
    return;
  }
  const bytes = decode(body, headerOf(head, 'content-transfer-encoding'));
  const file = /filename="?([^";]+)"?/.exec(headerOf(head, 'content-disposition'))?.[1];
  if (file === undefined) into.parts[type.split(';', 1)[0] ?? ''] = bytes.toString();
  else into.files[file] = bytes;
}

function toMail(from: string, to: readonly string[], raw: string): ReceivedMail {
  const found = { parts: {}, files: {} };
  readParts(raw, found);
  return {
    from,
    to,
    subject: decodeWords(headerOf(raw.split(/\r?\n\r?\n/)[0] ?? '', 'subject')),
    ...found,
  };
}

export async function startMailServer(): Promise<MailServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    let [from, to, data] = ['', [] as string[], undefined as string | undefined];
    const take = (line: string): void => {
      if (data !== undefined) {
        if (line !== '.') data += `${line.replace(/^\.\./, '.')}\r\n`;
        else {
          box.mails.push(toMail(from, to, data));
          data = undefined;
          say('250 taken');
        }
        return;
      }
      const address = /<(.*?)>/.exec(line)?.[1] ?? '';
      switch (line.slice(0, 4).toUpperCase()) {
        case 'EHLO':
          socket.write('250-here\r\n250 AUTH PLAIN\r\n');
          break;
        case 'AUTH':
          say(box.behaviour === 'unauthorized' ? `535 no: ${line}` : '235 welcome');
          break;
        case 'MAIL':
          [from, to] = [address, []];
          say('250 ok');
          break;
        case 'RCPT':
          if (box.behaviour === 'refuse') say('550 no such user');
          else {
            to.push(address);
            say('250 ok');
          }
          break;
        case 'DATA':
          data = '';
          say('354 go on');
          break;
        case 'QUIT':
          say('221 bye');
          socket.end();
          break;
        default:
          say('250 ok');
      }
    };
    let rest = '';
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      lines.forEach(take);
    });
    say('220 here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const box: MailServer = {
    url: `smtp://worker:${MAIL_PASSWORD}@127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails: [],
    behaviour: 'take',
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  return box;
}
