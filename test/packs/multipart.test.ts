import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { multipartFields } from '../../src/packs/multipart.js';

const CONTENT_TYPE = 'multipart/form-data; boundary=xyz';
const read = (body: string, contentType = CONTENT_TYPE) => multipartFields(Buffer.from(body), contentType);
const part = (name: string, value: string) =>
  `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

describe('multipart fields', () => {
  test('what the platform encodes is read back, whatever the values and files hold', async () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9_.-]{1,20}$/);
    const value = fc.string({ unit: 'grapheme', maxLength: 200 });
    const bytes = fc.uint8Array({ maxLength: 300 });
    const fields = fc.array(fc.tuple(name, fc.oneof(value, fc.constantFrom('\n--', '\r\n\r\n', '--', ''))), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fields, fc.array(fc.tuple(name, bytes), { maxLength: 3 }), async (texts, files) => {
        const data = new FormData();
        for (const [key, content] of files) data.append(key, new Blob([content]), `${key}.bin`);
        for (const [key, text] of texts) data.append(key, text);
        const encoded = new Response(data);
        const contentType = encoded.headers.get('content-type')!;
        const body = new Uint8Array(await encoded.arrayBuffer());
        // Form encoding writes every line break as CRLF (HTML, "multipart/form-data encoding algorithm").
        const expected = texts.map(([key, text]) => [key, text.replace(/\r\n|\r|\n/g, '\r\n')]);
        expect(multipartFields(body, contentType)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test('preamble, epilogue, padding, quoted boundary, names without quotes', () => {
    const body = `preamble\r\n${part('a', '1')}--xyz \t\r\ncontent-disposition:form-data; x=y; NAME=b\r\nContent-Type: text/plain\r\n\r\n2\r\n--xyz--\r\n${part('c', '3')}`;
    const expected = [
      ['a', '1'],
      ['b', '2'],
    ];
    expect(read(body)).toEqual(expected);
    expect(read(body, 'Multipart/Form-Data; charset=utf-8; Boundary="xyz"')).toEqual(expected);
  });

  test('what is no such form has no fields', () => {
    expect(read('')).toEqual([]);
    expect(read('--xyz')).toEqual([]);
    expect(read('--xyz--')).toEqual([]);
    expect(read('a=b')).toEqual([]);
    expect(read(part('a', '1'), 'multipart/form-data')).toEqual([]);
    expect(read(part('a', '1'), 'multipart/form-data; boundary=')).toEqual([]);
    // The last part is cut off in the middle.
    expect(read(`${part('a', '1')}--xyz\r\nContent-Disposition: form-data; name="b"\r\n\r\n2`)).toEqual([
      ['a', '1'],
    ]);
    expect(read('--xyz\r\nContent-Type: text/plain\r\n\r\n1\r\n--xyz--')).toEqual([]);
  });

  test('a part without a head, an empty one and a file are left out', () => {
    const file = '--xyz\r\nContent-Disposition: form-data; name="f"; filename="token"\r\n\r\nx\r\n';
    expect(read(`--xyz\r\n--xyz\r\n\r\n\r\n${file}${part('a', '')}--xyz--`)).toEqual([['a', '']]);
  });

  test('parts beyond the bound are not read', () => {
    expect(read(`${part('a', '1').repeat(1_500)}--xyz--`)).toHaveLength(1_000);
  });

  test('any bytes end', () => {
    const pieces = fc.array(
      fc.constantFrom(
        '--xyz',
        '--',
        '\r\n',
        '\n',
        'name="a"',
        'Content-Disposition: form-data; name="a"',
        'x',
      ),
    );
    fc.assert(
      fc.property(pieces, (list) => {
        const body = list.join('');
        for (const [, value] of read(body)) expect(body).toContain(value);
      }),
    );
  });
});
