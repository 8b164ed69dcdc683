import * as z from 'zod';
import { contentBound, contentSchema } from './content-bounds.ts';
import { reasoningDetailSchema } from './reasoning.ts';
import { omittable } from './without-nulls.ts';

const address = /^https:\/\/[^\s\\]+$/i;
/** Raster formats only: an SVG can refer to other addresses, and providers pass other media to other parsers. */
const imageData = /^data:image\/(?:avif|bmp|gif|heic|heif|jpe?g|png|tiff?|webp)(?:;[\w-]+=[\w.-]+)*;base64,/i;

/** Schemes that an error may name. Any other word before a colon may be content. */
const named: ReadonlySet<string> = new Set(
  'about blob data file ftp ftps gopher gs http javascript ldap s3 sftp smb ssh unix ws wss'.split(' '),
);

/**
 * Address of an image: https, which the provider fetches, or a base64 `data:` URL. With any other scheme, a provider might fetch
 * from inside its network or read its own files.
 */
export const imageUrlSchema = z
  .string()
  .refine((url) => address.test(url) || imageData.test(url), {
    error: ({ input }) => `must be an https address or a base64 \`data:\` URL of an image${faultOf(String(input))}`,
  })
  .meta(contentBound);

function faultOf(url: string): string {
  const scheme = /^([a-z0-9]{2,10}):/i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (scheme === 'data') return ' such as `data:image/png;base64,…`';
  return named.has(scheme) ? `, not \`${scheme}:\`` : '';
}

/** Most messages of one chat request. */
export const maxMessages = 4096;
/** Most parts of one message. The weight of the largest JSON body allows fewer. */
const maxParts = 200_000;

/** A name or an id that a provider chose in an earlier answer, however long. */
const requiredContent = z.string().min(1).meta(contentBound);

/**
 * Marks the end of a prefix that the provider may cache, for providers with explicit caching (Anthropic). Callers cannot choose
 * how long, because a longer time has another price.
 */
export const cacheControlSchema = z
  .object({ type: z.literal('ephemeral', { error: 'must be `ephemeral`' }) })
  .nullish();

const textPart = z
  .object({ type: z.literal('text'), text: contentSchema, cache_control: cacheControlSchema })
  .meta({ title: 'TextPart' });
const imagePart = z
  .object({
    type: z.literal('image_url'),
    image_url: z.object({ url: imageUrlSchema, detail: omittable(z.enum(['auto', 'low', 'high'])) }),
    cache_control: cacheControlSchema,
  })
  .meta({ title: 'ImagePart' });
const refusalPart = z.object({ type: z.literal('refusal'), refusal: contentSchema }).meta({ title: 'RefusalPart' });

const textContent = z.union([contentSchema, z.array(textPart).min(1).max(maxParts)], {
  error: 'must be a string or an array of text parts',
});
const seenPart = z.discriminatedUnion('type', [textPart, imagePart], {
  error: 'must be a part of the type `text` or `image_url`: files, audio and video are not supported',
});
/** Content of user and tool messages, which can include images such as screenshots. */
const seenContent = z.union([contentSchema, z.array(seenPart).min(1).max(maxParts)], {
  error: 'must be a string or an array of `text` and `image_url` parts',
});
/** Some clients send an empty list beside tool calls. */
const assistantContent = z.union(
  [contentSchema, z.array(z.discriminatedUnion('type', [textPart, refusalPart])).max(maxParts)],
  {
    error: 'must be a string, null or an array of `text` and `refusal` parts',
  },
);

const toolCallSchema = z
  .object({
    id: requiredContent,
    type: z.literal('function'),
    function: z.object({ name: requiredContent, arguments: contentSchema }),
  })
  .meta({ title: 'ToolCall' });

const name = omittable(z.string().min(1).max(64));

/** One chat message, in OpenAI's form. Unknown fields are dropped and never forwarded. */
export const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: textContent, name }).meta({ title: 'SystemMessage' }),
    z.object({ role: z.literal('developer'), content: textContent, name }).meta({ title: 'DeveloperMessage' }),
    z.object({ role: z.literal('user'), content: seenContent, name }).meta({ title: 'UserMessage' }),
    z
      .object({
        role: z.literal('assistant'),
        content: assistantContent.nullish(),
        refusal: contentSchema.nullish(),
        /** Reasoning of an earlier answer. Some models need it again during a tool loop. */
        reasoning: contentSchema.nullish(),
        reasoning_content: contentSchema.nullish(),
        reasoning_details: z.array(reasoningDetailSchema).max(65_536).nullish(),
        tool_calls: omittable(z.array(toolCallSchema).max(128)),
        name,
      })
      .meta({ title: 'AssistantMessage' }),
    z
      .object({ role: z.literal('tool'), content: seenContent, tool_call_id: requiredContent })
      .meta({ title: 'ToolMessage' }),
  ],
  { error: 'must have a `role` of system, developer, user, assistant or tool' },
);
export type Message = z.infer<typeof messageSchema>;
