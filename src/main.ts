#!/usr/bin/env node
/** Process entry: signals first, then arguments and exit code; nothing else. */
import './cli/lean-memory.ts';

// Before the program is loaded, which takes seconds on a busy machine: as process 1 of a container, a signal that
// nobody handles yet would be dropped by the kernel.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The first signal asks to stop, the second one ends at once.
    if (stop.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143);
    if (process.stderr.isTTY) process.stderr.write('\nstopping; once more ends at once\n');
    stop.abort(new Error(signal));
  });
}

// npx keeps signals for itself: when it is ended we would go on alone, unseen. Then its end is our signal.
if (process.env['npm_command'] === 'exec') {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop.abort(new Error('the end of npx'));
  }, 1000).unref();
}
// `safety-sync runs | head` closes our stdout: no reason to complain, and none to leave a database server behind.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    stop.abort(new Error('the end of the reader'));
  });
}

const { runProgram } = await import('./cli/program.ts');
const { createTerminal } = await import('./cli/terminal.ts');
process.exitCode = await runProgram(process.argv.slice(2), {
  env: process.env,
  terminal: createTerminal(process.env),
  signal: stop.signal,
});
// A connection to something that vanished, or a collector of traces that is asked again and again, must not keep a
// process that has said its last word.
setTimeout(() => process.exit(), 500).unref();
