import { testServiceLimits } from './service-limit-tests.ts';

testServiceLimits([1]);
