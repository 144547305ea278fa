/** Loaded into the worker with `--import`: writes what the process used when it ends, to the file that USAGE_FILE names. */
import { subscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';

let bytes = 0;
subscribe('undici:request:bodyChunkReceived', (message) => {
  bytes += (message as { readonly chunk: Buffer }).chunk.length;
});
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMemoryBytes: maxRSS * 1024, bytes };
  writeFileSync(process.env['USAGE_FILE'] ?? '', JSON.stringify(usage));
});
