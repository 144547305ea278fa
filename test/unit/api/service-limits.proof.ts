import { testServiceLimits } from './service-limit-tests.ts';

testServiceLimits([1, 2, 3, 4, 5]);
