/**
 * A process that uses the embedded server in the directory of its first argument: prints one line of JSON when it
 * has it, releases it when its standard input ends, prints `released`.
 */
import { once } from 'node:events';
import { acquireEmbeddedServer } from '../../src/embedded/server.ts';

const server = await acquireEmbeddedServer({ dataDir: process.argv[2] ?? '', database: 'warehouse' });
process.stdout.write(`${JSON.stringify({ url: server.url, joined: server.joined })}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await server.release();
process.stdout.write('released\n');
