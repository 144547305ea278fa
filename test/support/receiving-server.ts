import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Respond = (response: ServerResponse, request: IncomingMessage, body: string) => void;

/** An HTTP server on a free port of the loopback interface that receives each request whole before it responds. */
export async function startReceivingServer(respond: Respond) {
  const server = createServer((request, response) => {
    // A request that its client broke off has no response.
    const ignored = () => undefined;
    void text(request).then((body) => respond(response, request, body), ignored);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
