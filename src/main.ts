#!/usr/bin/env node
/** Process entry: signal handlers, then arguments and exit code. */
import { setMaxListeners } from 'node:events';
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { setFlagsFromString } from 'node:v8';

// On a machine with much memory V8 lets garbage grow to four times the live memory. With three times a first load takes some
// 30 MB less; engine/api/response-body.ts asks for less after a large response.
setFlagsFromString('--heap-growing-percent=200');

// Gives new objects two halves of 8 MB, where V8 gives them 16 MB each (Node 24: more) and is not faster. The bound can
// only be set on the command line, but the growth factor is read at each growth. So one growth by the factor 8 is caused,
// by more live objects than the initial space holds, before the factor is set to 1. Node 20, 20,000 follow-ups: 19 MB less
// in a first load and 14 in an unchanged read, Node 24: 96 and 44. Not for verbs that run for long: V8 shrinks the space
// while they are idle, and it could not grow again.
if (!['start', 'sandbox', 'demo'].includes(process.argv[2] ?? '')) {
  setFlagsFromString('--semi-space-growth-factor=8');
  Array.from({ length: 60_000 }, (_, at) => [at]);
  setFlagsFromString('--semi-space-growth-factor=1');
}

// All runs, requests and waiting ticks listen to one signal: Node would warn of a leak from the eleventh on.
setMaxListeners(0);

// Registered before the program loads, which takes seconds on a busy machine: the kernel drops signals to process 1 of a
// container while they have no handler.
const stop = new AbortController();
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The first signal requests a stop, the second one ends the process at once.
    if (stop.signal.aborted) process.exit(EXIT_CODES[signal]);
    if (process.stderr.isTTY) process.stderr.write('\nstopping; a second signal stops at once\n');
    stop.abort(new Error(signal));
  });
}

// Node gives up an address after 250 ms if the host has another one, which is less than a slow line takes.
setDefaultAutoSelectFamilyAttemptTimeout(5000);

// npx handles signals itself, so its end would leave this process running alone. Its end counts as a signal.
if (process.env['npm_command'] === 'exec') {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new Error('the end of npx'));
  }, 1000).unref();
}
const { stdout, stderr } = process;
// Logs and progress go to stderr. Without a reader of them the work goes on, because it does not depend on them.
stderr.on('error', () => undefined);
// Stdout may be closed early, as in `safety-sync runs | head`: that is no error, but the embedded server must still be
// stopped. Any other failure, such as a full disk, is one.
const output = { isCut: false };
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && !output.isCut) {
    output.isCut = true;
    stderr.write(`safety-sync: the output cannot be written: ${error.message}\n`);
  }
  stop.abort(new Error('the end of the reader'));
});

const { runProgram } = await import('./cli/program.ts');
const { createTerminal } = await import('./cli/terminal.ts');
const code = await runProgram(process.argv.slice(2), {
  env: process.env,
  terminal: createTerminal(process.env),
  signal: stop.signal,
});
// Output to a slow reader is written first.
await Promise.all([stdout, stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))));
process.exitCode = output.isCut ? 1 : code;
// Ends the process although connections to vanished hosts, or retries of the trace exporter, are still pending.
setTimeout(() => process.exit(), 500).unref();
