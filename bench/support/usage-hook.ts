/**
 * Loaded into the worker with `--import`: writes the process's resource usage when it ends, to the file that
 * USAGE_FILE names.
 */
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

let bytes = 0;
subscribe('undici:request:bodyChunkReceived', (message) => {
  bytes += (message as { readonly chunk: Buffer }).chunk.length;
});

/** Bytes. In Linux `maxRSS` begins with the memory of the process that started this one. */
function peakMemory(): number {
  const status = '/proc/self/status';
  const told = existsSync(status) ? /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(status, 'utf8'))?.[1] : undefined;
  return (told === undefined ? process.resourceUsage().maxRSS : Number(told)) * 1024;
}

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage = {
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMemoryBytes: peakMemory(),
    bytes,
  };
  writeFileSync(process.env['USAGE_FILE'] ?? '', JSON.stringify(usage));
});
