import { expect, test } from 'vitest';
import { adviceOf, ignoreRejection, usageError } from '../../../src/shared/errors.ts';

test('an error has the advice and the cause that it is given, else the advice of its code and no cause', () => {
  const cause = new Error('why');
  expect(usageError('x', 'do this', cause)).toMatchObject({ advice: 'do this', cause });
  expect(usageError('x')).toMatchObject({ advice: adviceOf('usage_invalid') });
  expect(usageError('x')).not.toHaveProperty('cause');
});

test('a promise with an ignored rejection rejects for who awaits it', async () => {
  await expect(ignoreRejection(Promise.reject(new Error('later')))).rejects.toThrow('later');
});
