/** A session of the driver alone, for floor and peer. Small packets are sent at once, as by the program. */
import net from 'node:net';
import postgres from 'postgres';

export const connect = (url: string): postgres.Sql =>
  postgres(url, {
    max: 1,
    fetch_types: false,
    onnotice: () => undefined,
    ...({
      socket: ({ host: [host], port: [port] }: { host: string[]; port: number[] }) =>
        Object.assign(net.connect({ host: host ?? 'localhost', port: port ?? 5432, noDelay: true }), {
          host,
          port,
        }),
    } as object),
  });
