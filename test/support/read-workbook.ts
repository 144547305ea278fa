/** Reads a workbook without a library for workbooks or zips, so that its writer is checked by other code. */
import { inflateRawSync } from 'node:zlib';

const CENTRAL = 0x02014b50;
const LAST = 0x06054b50;

/** The files of a zip, by their directory at the end. */
export function readEntries(bytes: Buffer): Map<string, string> {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end < 0 || bytes.readUInt32LE(end) !== LAST) throw new Error('no zip');
  const files = new Map<string, string>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) !== CENTRAL) throw new Error('no entry of a zip');
    const [nameLength, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const name = bytes.toString('utf8', at + 46, at + 46 + (nameLength ?? 0));
    const local = bytes.readUInt32LE(at + 42);
    const begin = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const packed = bytes.subarray(begin, begin + bytes.readUInt32LE(at + 20));
    files.set(name, (bytes.readUInt16LE(at + 10) === 8 ? inflateRawSync(packed) : packed).toString());
    at += 46 + (nameLength ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return files;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const toText = (xml: string): string =>
  xml.replace(/&([#\w]+);/g, (_, name: string) => ENTITIES[name] ?? '?');

export interface ReadCell {
  readonly type: string;
  readonly style: string;
  readonly formula: string | null;
  readonly text: string;
}

/** The cells of each sheet, by column letter; the first row has the names. */
export function readWorkbook(bytes: Buffer): Map<string, Map<string, ReadCell>[]> {
  const files = readEntries(bytes);
  const book = files.get('xl/workbook.xml') ?? '';
  const targets = new Map(
    [...(files.get('xl/_rels/workbook.xml.rels') ?? '').matchAll(/Id="(\w+)"[^>]*Target="([^"]+)"/g)].map(
      ([, id = '', target = '']) => [id, target],
    ),
  );
  return new Map(
    [...book.matchAll(/<sheet name="([^"]+)"[^>]*r:id="(\w+)"/g)].map(([, name = '', id = '']) => {
      const xml = files.get(`xl/${targets.get(id) ?? ''}`) ?? '';
      const rows = [...xml.matchAll(/<row r="\d+"[^>]*>(.*?)<\/row>/gs)].map(
        ([, row = '']) =>
          new Map(
            [...row.matchAll(/<c r="([A-Z]+)\d+"([^>]*)>(.*?)<\/c>/gs)].map(
              ([, column = '', head = '', cell = '']) => [
                column,
                {
                  type: /t="(\w+)"/.exec(head)?.[1] ?? 'n',
                  style: /s="(\d+)"/.exec(head)?.[1] ?? '',
                  formula: toText(/<f>(.*?)<\/f>/s.exec(cell)?.[1] ?? '') || null,
                  text: toText(/<(?:v|t[^>]*)>(.*?)<\/(?:v|t)>/s.exec(cell)?.[1] ?? ''),
                },
              ],
            ),
          ),
      );
      return [toText(name), rows];
    }),
  );
}
