/** Configures nodemailer with limits. `mail.ts` loads this file when a mail has to be sent. */
import { createTransport } from 'nodemailer';
import { isLoopback } from '../../config/account-config.ts';
import { ATTEMPT_MS } from './channel.ts';

/** A password is sent over TLS only, unless the URL allows plain text. */
function needsTls(smtpUrl: string): boolean {
  const { protocol, hostname, password } = new URL(smtpUrl);
  return protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
}

/** A mail server needs no longer responses than this, in bytes. */
const MOST_RESPONSE_BYTES = 16 * 1024;

export const openTransport = (smtpUrl: string) =>
  createTransport({
    ...(needsTls(smtpUrl) ? { requireTLS: true } : {}),
    url: smtpUrl,
    connectionTimeout: ATTEMPT_MS,
    greetingTimeout: ATTEMPT_MS,
    socketTimeout: ATTEMPT_MS,
    dnsTimeout: ATTEMPT_MS,
    maxResponseSize: MOST_RESPONSE_BYTES,
    // Attachments by path or URL are disabled: a message cannot make this process read files or fetch URLs.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
