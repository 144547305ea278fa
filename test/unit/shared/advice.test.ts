import { expect, it } from 'vitest';
import { adviceOf, ERROR_KINDS, SafetySyncError } from '../../../src/shared/errors.ts';

it('what to do about an account of the accounts file names the keys of its entry, not variables that do not exist', () => {
  expect(adviceOf('token_invalid')).toBe('The service does not know this token; replace SAFETY_TOKEN.');
  expect(adviceOf('token_invalid', 'west')).toBe(
    'The service does not know this token; replace token of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
  expect(adviceOf('token_missing', 'west')).toBe(
    'Set token or token_file of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
  expect(adviceOf('network_error', 'west')).toContain('check base_url of the entry west in');
  for (const code of Object.keys(ERROR_KINDS)) {
    expect(adviceOf(code, 'west'), code).not.toMatch(/SAFETY_(TOKEN|BASE_URL|EQUIPMENT_TYPES)/);
  }
  const error = new SafetySyncError('token_inactive', 'refused');
  error.entry = 'west';
  expect(error.advice).toContain('the entry west');
  expect(adviceOf('a_code_of_later', 'west')).toBe('');
});
