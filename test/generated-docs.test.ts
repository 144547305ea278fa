/** Documents that are generated from the code alone. Those from the database: test/integration/generated-docs.test.ts. */
import { describe, expect, it } from 'vitest';
import { fillSections, holdGenerated } from './support/generated.ts';
import { renderCodeDocs } from './support/render-code.ts';

const documents = await renderCodeDocs();

describe('generated from the code', () => {
  it.each(Object.entries(documents))('%s contains its generated texts', async (path, generated) => {
    await holdGenerated({ [path]: generated });
  });

  it('sections keep the text between them, and a section without a text is an error', async () => {
    const document =
      'a\n\n<!-- generated: x -->\nold\n<!-- end -->\n\nb\n\n<!-- generated: y -->\n<!-- end -->\n';
    expect(await fillSections(document, { x: '1', y: '2' })).toBe(
      'a\n\n<!-- generated: x -->\n\n1\n\n<!-- end -->\n\nb\n\n<!-- generated: y -->\n\n2\n\n<!-- end -->\n',
    );
    await expect(fillSections(document, { x: '1' })).rejects.toThrow('sections of the document');
  });
});
