export { createSandbox } from './create-sandbox.ts';
export type { Sandbox } from './create-sandbox.ts';
export { defaultSize } from './options.ts';
export type { SandboxOptions, SandboxSize, TlsOptions } from './options.ts';
export type {
  Fault,
  FaultController,
  FaultKind,
  FaultOptions,
  FaultPredicate,
  FaultRates,
} from './faults/fault.ts';
export type { Live, LiveOptions } from './live/live-source.ts';
export type * from './records.ts';
export type { RequestLogEntry } from './request-log.ts';
export type { AccessController, TokenState } from './service/access.ts';
export type { Hooks } from './service/hooks.ts';
export { defaultReadings, optionalFields } from './service/readings.ts';
export type { Readings, UnaskedPaging } from './service/readings.ts';
export { errorConditions } from './service/service-error.ts';
export type { ErrorId } from './service/service-error.ts';
export type { RecordTable } from './store/record-table.ts';
export type { SandboxStore } from './store/sandbox-store.ts';
export type { TrainingCalculation } from './store/training-calculation.ts';
