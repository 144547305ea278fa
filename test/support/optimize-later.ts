/**
 * V8 optimizes what has run for long; by its own measure that is most of the product in each worker of a test run, which ends
 * soon after: a tenth of the processor time went there. A V8 that does not know the flag says so and goes on.
 */
import { setFlagsFromString } from 'node:v8';

/** Bytes of bytecode that a function runs before it is looked at again: some thirty times V8's own. */
setFlagsFromString('--interrupt-budget=2000000');
