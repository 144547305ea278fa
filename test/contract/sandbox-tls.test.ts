import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { createTestSandbox } from './sandbox-ask.ts';

/** For localhost and 127.0.0.1, signed by itself, of no use anywhere else. */
const tls = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgR1DMZ334dF7uz/6E
8cYoy37KvMERQXcmsFat9LjdeeqhRANCAASe6LRMXHu3H0VuZlvYPQpde4D4cI2q
CcqNMNXbx6PsNRhhwGWTnqdP3JlSpZOKIvZHEBaRru0GHsfaFlLdfvp8
-----END PRIVATE KEY-----
`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIULLc4qbVORsRyUtKmGGLXfBOpq4kwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDExMjU1MFoYDzIxMjYxMDI3
MTEyNTUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASe6LRMXHu3H0VuZlvYPQpde4D4cI2qCcqNMNXbx6PsNRhhwGWTnqdP
3JlSpZOKIvZHEBaRru0GHsfaFlLdfvp8o28wbTAdBgNVHQ4EFgQUGUWVPUPnXuAs
gW6YgD7Vrqp/tuwwHwYDVR0jBBgwFoAUGUWVPUPnXuAsgW6YgD7Vrqp/tuwwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAPXTuLrk6/mgrkFg+mNA2Ru/QviRGHyHGD4mJZceJVJBAiEA
xwMf6TUNaqsJSNBxys7PTfBouqPhdII6OE4v8LaKaLU=
-----END CERTIFICATE-----
`,
};

/** The protocol agreed on, or the error when there is none. */
async function offer(sandbox: Sandbox, version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'): Promise<string | null> {
  const { hostname, port } = new URL(sandbox.url);
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      host: hostname,
      port: Number(port),
      ca: tls.cert,
      // The certificate is not what is tested, and this machine's date may lie outside its validity.
      rejectUnauthorized: false,
      minVersion: version,
      maxVersion: version,
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    socket.once('error', () => resolve('refused'));
    socket.once('secureConnect', () => {
      resolve(socket.getProtocol());
      socket.destroy();
    });
  });
}

describe('TLS', () => {
  it('a connection with TLS below 1.2 is refused', async () => {
    const sandbox = await createTestSandbox({ tls });
    expect(sandbox.url).toMatch(/^https:/);
    expect(await offer(sandbox, 'TLSv1.1')).toBe('refused');
    expect(await offer(sandbox, 'TLSv1.2')).toBe('TLSv1.2');
    expect(await offer(sandbox, 'TLSv1.3')).toBe('TLSv1.3');
  });
});
