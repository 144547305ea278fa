import { expect, it } from 'vitest';
import { adviceOf, ERROR_KINDS } from '../../../src/shared/errors.ts';

it('the advice for accounts of the accounts file names the keys of their entries instead of variables', () => {
  expect(adviceOf('token_missing')).toBe('Set SAFETY_TOKEN or SAFETY_TOKEN_FILE.');
  expect(adviceOf('token_missing', { entry: 'west' })).toBe(
    'Set token or token_file of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
  for (const code of Object.keys(ERROR_KINDS)) {
    expect(adviceOf(code, { entry: 'west' }), code).not.toMatch(/SAFETY_(TOKEN|BASE_URL|EQUIPMENT_TYPES)/);
  }
  expect(adviceOf('token_invalid', ...'abcdefg'.split('').map((entry) => ({ entry })))).toMatch(
    /; replace token of the entries a, b, c, d, e, … in SAFETY_ACCOUNTS_FILE\.$/,
  );
});
