import { expect, it } from 'vitest';
import { adviceOf, ERROR_KINDS, SafetySyncError } from '../../../src/shared/errors.ts';

it('the advice for an account of the accounts file names the keys of its entry instead of variables', () => {
  expect(adviceOf('token_invalid')).toBe('The service does not know this token; replace SAFETY_TOKEN.');
  expect(adviceOf('token_invalid', { entry: 'west' })).toBe(
    'The service does not know this token; replace token of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
  expect(adviceOf('token_missing', { entry: 'west' })).toBe(
    'Set token or token_file of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
  expect(adviceOf('network_error', { entry: 'west' })).toContain('check base_url of the entry west in');
  for (const code of Object.keys(ERROR_KINDS)) {
    expect(adviceOf(code, { entry: 'west' }), code).not.toMatch(/SAFETY_(TOKEN|BASE_URL|EQUIPMENT_TYPES)/);
  }
  const error = new SafetySyncError('token_inactive', 'refused');
  error.tokenSource = { entry: 'west' };
  expect(error.advice).toContain('the entry west');
  expect(adviceOf('a_code_of_later', { entry: 'west' })).toBe('');
});

it('the advice for a token in a file names the file', () => {
  const tokenFile = '/run/secrets/token';
  expect(adviceOf('token_invalid', { tokenFile })).toBe(
    'The service does not know this token; replace the token in /run/secrets/token.',
  );
  expect(adviceOf('token_inactive', { entry: 'west', tokenFile })).toBe(
    'The token was deactivated; have a new one issued and replace the token in /run/secrets/token, the token_file of the entry west in SAFETY_ACCOUNTS_FILE.',
  );
});

it('the advice for several accounts names their entries, and the variable only for the account of the variables', () => {
  const entries = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((entry) => ({
    entry,
    tokenFile: '/run/secrets/x',
  }));
  expect(adviceOf('token_invalid', ...entries)).toMatch(
    /; replace token of the entries a, b, c, d, e and 2 more in SAFETY_ACCOUNTS_FILE\.$/,
  );
  expect(adviceOf('token_invalid', {}, { entry: 'west' })).toMatch(
    /; replace SAFETY_TOKEN, and token of the entry west in SAFETY_ACCOUNTS_FILE\.$/,
  );
});
