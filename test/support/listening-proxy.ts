import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a PostgreSQL server that records all bytes of the clients: statements, parameters, rows of COPY. */
export async function startListeningProxy(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  /** By connection, because a text may arrive in two chunks. */
  let sent: Buffer[][] = [];
  let isHeld = false;
  const server = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port || 5432), noDelay: true });
    const pieces: Buffer[] = [];
    sent.push(pieces);
    client.on('data', (piece: Buffer) => {
      if (!sent.includes(pieces)) sent.push(pieces);
      pieces.push(piece);
    });
    if (!isHeld) client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    /** The database URL through the proxy. */
    url: url.href,
    /** The given texts that were sent since the last `forget`. */
    heard(texts: readonly string[]): string[] {
      const all = sent.map((pieces) => Buffer.concat(pieces));
      return texts.filter((text) => all.some((bytes) => bytes.includes(text)));
    },
    /** Bytes since then. */
    get size(): number {
      return sent.flat().reduce((sum, { length }) => sum + length, 0);
    },
    forget() {
      for (const pieces of sent) pieces.length = 0;
      sent = [];
    },
    /** Passes nothing on any more, and keeps all connections open. */
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
