import { type ImagePart, missingDocument, type SeenPart, type TextPart, unreadable } from '../chat-body.ts';
import { asObject, asObjects, asString, type JsonObject } from '../json.ts';

type CacheMark = NonNullable<TextPart['cache_control']>;

/** Returns the mark for the end of a prefix that may be cached. How long is not passed on: it has another price. */
export const cacheMark = (block: JsonObject): { readonly cache_control?: CacheMark } =>
  block.cache_control == null ? {} : { cache_control: { type: 'ephemeral' } };

/** Returns the blocks of a content. A string is one text block. */
export function blocksIn(content: unknown, param: string): readonly JsonObject[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : asObjects(content);
  if (blocks === undefined) throw unreadable(`\`${param}\` must be a string or a list of blocks.`, param);
  return blocks;
}

/** Reads text and image blocks as parts. Other kinds become a sentence or nothing. */
export const readParts = (content: unknown, param: string): SeenPart[] =>
  blocksIn(content, param).flatMap((block, index) => readPart(block, `${param}.${index}`));

/** Reads one block as parts. Blocks that only the vendor's own tools use become nothing. */
export function readPart(block: JsonObject, param: string): SeenPart[] {
  switch (block.type) {
    case 'text': {
      const text = asString(block.text);
      if (text === undefined) throw unreadable(`\`${param}.text\` must be a string.`, `${param}.text`);
      return [{ type: 'text', text, ...cacheMark(block) }];
    }
    case 'image':
      return [readImage(block, param)];
    case 'document':
      return readDocument(block, param);
    case 'search_result':
      return [{ type: 'text', text: searchResultText(block), ...cacheMark(block) }];
    case 'tool_reference':
      return [{ type: 'text', text: asString(block.tool_name) ?? '' }];
    default:
      return [];
  }
}

function readImage(block: JsonObject, param: string): ImagePart {
  const source = asObject(block.source) ?? {};
  const url =
    source.type === 'url'
      ? asString(source.url)
      : source.type === 'base64'
        ? `data:${asString(source.media_type) ?? 'image/png'};base64,${asString(source.data) ?? ''}`
        : undefined;
  if (url === undefined) {
    const message = `\`${param}.source\` must be of the type \`base64\` or \`url\`: no files are kept here.`;
    throw unreadable(message, `${param}.source`);
  }
  return { type: 'image_url', image_url: { url }, ...cacheMark(block) };
}

/** A document of text is text. A chat cannot carry another one, so the model is told that it is missing. */
function readDocument(block: JsonObject, param: string): SeenPart[] {
  const source = asObject(block.source) ?? {};
  const title = asString(block.title);
  const heading = title === undefined ? '' : `${title}\n\n`;
  if (source.type === 'text') {
    return [{ type: 'text', text: heading + (asString(source.data) ?? ''), ...cacheMark(block) }];
  }
  if (source.type === 'content') {
    const parts = readParts(source.content, `${param}.source.content`);
    return title === undefined ? parts : [{ type: 'text', text: title }, ...parts];
  }
  const kind = asString(source.media_type) ?? 'unknown type';
  return [{ type: 'text', text: heading + missingDocument(kind) }];
}

function searchResultText(block: JsonObject): string {
  const texts = (asObjects(block.content) ?? []).flatMap(({ text }) => asString(text) ?? []);
  return [asString(block.title), asString(block.source), ...texts].filter(Boolean).join('\n');
}
