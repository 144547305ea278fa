/** nodemailer with our bounds; `mail.ts` loads this file when there is something to send. */
import { createTransport } from 'nodemailer';
import { isLoopback } from '../config/account-config.ts';
import { ATTEMPT_MS } from './channel.ts';

/** A password goes over the network under TLS only, unless the URL itself allows it. */
function needsTls(smtpUrl: string): boolean {
  const { protocol, hostname, password } = new URL(smtpUrl);
  return protocol === 'smtp:' && password !== '' && !isLoopback(hostname);
}

/** Bytes of one response: a server that sends more than that is no mail server. */
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
    // Nothing that a message names is read from a disk or fetched.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
