/**
 * Delays V8's optimization. By default each worker of a test run optimizes most of the product shortly before it ends, which
 * took a tenth of the processor time. A V8 without the flag prints a warning and continues.
 */
import { setFlagsFromString } from 'node:v8';

/** Bytecode budget of a function before optimization: about eight times V8's default. */
setFlagsFromString('--interrupt-budget=500000');
