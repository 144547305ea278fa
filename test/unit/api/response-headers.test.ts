import { expect, test } from 'vitest';
import { readHeaders } from '../../../src/engine/api/http.ts';
import type { RawHeaders, ResponseHeaders } from '../../../src/engine/api/http.ts';
import { createRedactor } from '../../../src/shared/redact.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

function read(headers: RawHeaders): ResponseHeaders {
  return readHeaders(headers, createRedactor(['secret-token'], { placeholder: '[token]' }), NOW_MS);
}

test('the request ID and the time of a response are read from its headers', () => {
  expect(read({ 'svc-request-id': 'abc123', date: 'Thu, 01 Jan 2026 00:00:10 GMT' })).toEqual({
    requestId: 'abc123',
    serviceTimeMs: NOW_MS + 10_000,
    retryAfterMs: undefined,
    contentEncoding: undefined,
    contentLength: 0,
    location: undefined,
  });
});

test('a request ID with another header prefix is read, unless the specified header is present', () => {
  expect(read({ 'acme-request-id': 'a' }).requestId).toBe('a');
  expect(read({ 'acme-request-id': 'a', 'svc-request-id': 'b' }).requestId).toBe('b');
});

test('unusable headers are treated as absent', () => {
  expect(read({ date: 'soon', 'svc-request-id': ' ', 'retry-after': 'later' })).toEqual({
    requestId: undefined,
    serviceTimeMs: undefined,
    retryAfterMs: undefined,
    contentEncoding: undefined,
    contentLength: 0,
    location: undefined,
  });
});

test('a request ID that contains the token is read without the token', () => {
  expect(read({ 'svc-request-id': 'id-secret-token' }).requestId).toBe('id-[token]');
});

test('Retry-After is read as seconds, or as a date relative to the Date of the response', () => {
  expect(read({ 'retry-after': '7' }).retryAfterMs).toBe(7_000);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }).retryAfterMs).toBe(5_000);
  expect(
    read({ 'retry-after': 'Thu, 01 Jan 2026 05:00:05 GMT', date: 'Thu, 01 Jan 2026 05:00:00 GMT' })
      .retryAfterMs,
  ).toBe(5_000);
  expect(read({ 'retry-after': 'Thu, 01 Jan 2020 00:00:00 GMT' }).retryAfterMs).toBe(0);
});
