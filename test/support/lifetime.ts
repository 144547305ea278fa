/** Resources that are closed by themselves, the latest first. */
import { rm } from 'node:fs/promises';
import { beforeAll, beforeEach, onTestFinished } from 'vitest';
import { makeTestFolder } from './test-folder.ts';

interface Closable {
  close(): Promise<unknown>;
}

/** Closes a resource at the end of the present test. */
export function untilTestEnds<T extends Closable>(resource: T): T {
  onTestFinished(async () => {
    await resource.close();
  });
  return resource;
}

/** A folder that is removed at the end of the present test. */
export async function folderForTest(name: string): Promise<string> {
  const folder = await makeTestFolder(name);
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Stands for the resource of the present test, or of the tests of the present file. */
function standIn<T extends Closable>(present: () => T): T {
  return new Proxy({} as T, {
    get: (_, name) => present()[name as keyof T],
    set: (_, name, value) => Reflect.set(present(), name, value),
    // A copy by `...` has the properties of the resource, too.
    ownKeys: () => Reflect.ownKeys(present()),
    getOwnPropertyDescriptor: (_, name) => ({
      ...Reflect.getOwnPropertyDescriptor(present(), name),
      configurable: true,
    }),
  });
}

/** Creates a resource before each test, and closes it after the test. */
export function forEachTest<T extends Closable>(create: () => Promise<T>): T {
  let present: T;
  beforeEach(async () => {
    present = untilTestEnds(await create());
  });
  return standIn(() => present);
}

/** Creates a resource before the tests of a file or of a `describe`, and closes it after them. */
export function forAllTests<T extends Closable>(create: () => Promise<T>): T {
  let present: T;
  beforeAll(async () => {
    present = await create();
    return () => present.close();
  });
  return standIn(() => present);
}
