import { readFileSync } from 'node:fs';

/** The folder of package.json: src, and dist when the program is built, lie in it. */
export const PACKAGE_URL = new URL('../', import.meta.url);

const manifest = JSON.parse(readFileSync(new URL('package.json', PACKAGE_URL), 'utf8')) as {
  version: string;
};

export const VERSION = manifest.version;
