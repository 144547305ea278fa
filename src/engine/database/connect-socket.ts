/** Connects to PostgreSQL, through TLS as `sslmode` says. postgres.js gets a socket that is ready, or one that fails. */
import { once } from 'node:events';
import net from 'node:net';
import { addAbortSignal } from 'node:stream';
import tls from 'node:tls';
import { SECOND_MS } from '../../shared/time.ts';
import type { DatabaseAddress } from './database-url.ts';

export const toConnectionError = (code: string, message: string): Error =>
  Object.assign(new Error(message), { code });

/**
 * postgres.js never answers a statement that it receives between a socket's `error` and its `close`, and reconnects without
 * end after a `close` alone while a session begins. So every `close` comes with an `error`, and immediately after it.
 */
function failWhenClosed(socket: net.Socket): void {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...args: unknown[]) => boolean;
  const closed = toConnectionError('CONNECTION_CLOSED', 'the connection was closed');
  const emitTogether = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event === 'error') return true;
    if (event === 'close' && socket.listenerCount('error') > 0) emit('error', socket.errored ?? closed);
    return emit(event, ...args);
  };
  Object.assign(socket, { emit: emitTogether });
}

/** PostgreSQL's question whether a server speaks TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);

async function secure(socket: net.Socket, wanted: DatabaseAddress['tls']): Promise<net.Socket> {
  if (wanted === null) return socket;
  socket.write(SSL_REQUEST);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  if (answer.toString('latin1', 0, 1) !== 'S') {
    if (wanted.isOptional) return socket;
    throw toConnectionError('TLS_NOT_OFFERED', 'the server does not speak TLS');
  }
  const secured = tls.connect({ ...wanted.options, socket });
  failWhenClosed(secured);
  await once(secured, 'secureConnect');
  return secured;
}

/** `signal` ends the connection. */
export async function connectSocket(address: DatabaseAddress, signal: AbortSignal): Promise<net.Socket> {
  const { host, port, path, connectTimeoutSeconds } = address;
  // Without Nagle's algorithm, because each small COPY would wait some 40 ms for an acknowledgement.
  const target = path === undefined ? { host, port, noDelay: true } : { path };
  // `net.connect`, if it gets the signal, keeps each socket for as long as the signal lives.
  const socket = addAbortSignal(signal, net.connect(target));
  failWhenClosed(socket);
  const late = `no connection to ${host}:${port} within ${connectTimeoutSeconds} s`;
  const giveUp = () => socket.destroy(toConnectionError('CONNECT_TIMEOUT', late));
  const timer = setTimeout(giveUp, connectTimeoutSeconds * SECOND_MS);
  try {
    await once(socket, 'connect');
    const ready = await secure(socket, address.tls);
    // For the messages of postgres.js.
    return Object.assign(ready, { host, port });
  } catch (error) {
    socket.destroy();
    throw socket.errored ?? error;
  } finally {
    clearTimeout(timer);
  }
}
