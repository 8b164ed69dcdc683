import { maxControlBytes } from '@sotto/wire';
import * as z from 'zod';
import { type Contract, contracts } from '../contract.ts';
import { anywhere, ofBodies } from '../errors.ts';
import { givenId, instant } from '../fields.ts';
import type { Content } from '../route.ts';

/** The media type of SCIM (RFC 7644, 3.1). Bodies may be `application/json`, too. */
export const scimMediaType = 'application/scim+json';

export const scimUrns = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  list: 'urn:ietf:params:scim:api:messages:2.0:ListResponse',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
  error: 'urn:ietf:params:scim:api:messages:2.0:Error',
} as const;

/** The most resources of one page. */
export const maxScimPage = 200;
/** The most members that one request names. */
const maxMembers = 5000;

const text = z.string().max(256);
const present = text.min(1);
const urnList = z.array(text).max(10);

/** Microsoft Entra ID sends `"True"` and `"False"`. */
const flag = z.preprocess(
  (value) => (typeof value === 'string' && /^(true|false)$/i.test(value) ? /^t/i.test(value) : value),
  z.boolean(),
);

const emailSchema = z.object({
  value: text.pipe(z.email()),
  type: text.optional(),
  primary: flag.optional(),
  display: text.optional(),
});

const nameSchema = z.object({
  formatted: text.optional(),
  familyName: text.optional(),
  givenName: text.optional(),
  middleName: text.optional(),
  honorificPrefix: text.optional(),
  honorificSuffix: text.optional(),
});

/** What is kept of a person: no more than names and addresses. Other attributes are accepted and ignored. */
const userAttributesSchema = z.object({
  displayName: text.optional(),
  name: nameSchema.optional(),
  emails: z.array(emailSchema).max(20).optional(),
});
export type ScimAttributes = z.infer<typeof userAttributesSchema>;

export const scimUserBodySchema = z.object({
  schemas: urnList.optional(),
  userName: present,
  externalId: present.optional(),
  /** Default: true, and in a change what it is. */
  active: flag.optional(),
  ...userAttributesSchema.shape,
});
export type ScimUserBody = z.infer<typeof scimUserBodySchema>;

const metaSchema = z.strictObject({
  resourceType: z.enum(['User', 'Group']),
  created: instant,
  lastModified: instant,
  location: z.url(),
});

/** A reference to a person or a group. It also has `$ref`, an address, which no JSON schema may have as the name of a property. */
const referenceSchema = z.looseObject({
  value: z.uuid(),
  display: z.string().optional(),
  type: z.enum(['User', 'Group']),
});

/** A person whom the provider manages. */
export const scimUserSchema = z.strictObject({
  schemas: z.tuple([z.literal(scimUrns.user)]),
  id: z.uuid(),
  externalId: z.string().optional(),
  userName: z.string(),
  active: z.boolean().describe('False: the person has left. They cannot sign in, and their keys do not work.'),
  displayName: z.string().optional(),
  name: nameSchema.optional(),
  emails: z.array(emailSchema).optional(),
  groups: z.array(referenceSchema),
  meta: metaSchema,
});
export type ScimUser = z.infer<typeof scimUserSchema>;

const groupMembers = z.array(z.object({ value: givenId }));

/** Body of `POST /scim/v2/Groups` and of `PUT /scim/v2/Groups/:id`. Groups have people as members, and no groups. */
export const scimGroupBodySchema = z.object({
  schemas: urnList.optional(),
  displayName: present,
  externalId: present.optional(),
  members: groupMembers.max(maxMembers).optional(),
});
/** A group after a patch. A group may have any number of members, because providers add them by and by. */
export const patchedScimGroup = scimGroupBodySchema.extend({ members: groupMembers.optional() });
export type ScimGroupBody = z.infer<typeof scimGroupBodySchema>;

/** A group whose people may have roles in workspaces (`OIDC_ROLES`). */
export const scimGroupSchema = z.strictObject({
  schemas: z.tuple([z.literal(scimUrns.group)]),
  id: z.uuid(),
  externalId: z.string().optional(),
  displayName: z.string(),
  members: z.array(referenceSchema).optional(),
  meta: metaSchema,
});
export type ScimGroup = z.infer<typeof scimGroupSchema>;

/** Attributes of any names. The body bounds them. */
const attributes = z.looseObject({}).meta({ 'x-max-bytes': maxControlBytes });

const operationSchema = z.object({
  op: z
    .string()
    .max(10)
    .toLowerCase()
    .pipe(z.enum(['add', 'replace', 'remove'])),
  path: z.string().min(1).max(300).optional(),
  value: z
    .union([text, z.boolean(), z.null(), attributes, z.array(z.union([attributes, text])).max(maxMembers)])
    .optional(),
});
export type ScimOperation = z.infer<typeof operationSchema>;

/** Body of a `PATCH` (RFC 7644, 3.5.2). */
export const scimPatchSchema = z.object({
  schemas: urnList.refine((all) => all.includes(scimUrns.patch), { error: `must hold ${scimUrns.patch}` }),
  Operations: z.array(operationSchema).min(1).max(1000),
});

const listOf = <Resource extends z.ZodType>(resource: Resource) =>
  z.strictObject({
    schemas: z.tuple([z.literal(scimUrns.list)]),
    totalResults: z.int(),
    startIndex: z.int(),
    itemsPerPage: z.int(),
    Resources: z.array(resource),
  });

export const scimUserListSchema = listOf(scimUserSchema);
export const scimGroupListSchema = listOf(scimGroupSchema);

/** What the service describes of itself (RFC 7643, 5 to 7). */
export const scimDescriptionSchema = z.looseObject({ schemas: z.array(z.string()) });
export const scimDescriptionListSchema = listOf(scimDescriptionSchema);

/** Every error (RFC 7644, 3.12). */
export const scimErrorSchema = z.strictObject({
  schemas: z.tuple([z.literal(scimUrns.error)]),
  status: z.string().describe('The HTTP status.'),
  scimType: z.enum(['invalidFilter', 'invalidPath', 'invalidValue', 'mutability', 'noTarget', 'uniqueness']).optional(),
  detail: z.string(),
});
export type ScimType = NonNullable<z.infer<typeof scimErrorSchema>['scimType']>;

const number = (fallback: number) =>
  z.coerce.number().pipe(z.int().min(-1_000_000_000).max(1_000_000_000)).default(fallback);

export const scimListQuerySchema = z.object({
  filter: z
    .string()
    .max(600)
    .optional()
    .describe(
      'One comparison by `eq`: of `userName`, `externalId`, `id` or `emails.value`, and for groups of `displayName`, `externalId` or `id`.',
    ),
  startIndex: number(1).describe('The first resource of the page, from 1.'),
  count: number(100).describe(`The size of the page. At most ${maxScimPage} are returned.`),
  excludedAttributes: z.string().max(600).optional().describe('`members` leaves out the members of groups.'),
});
export type ScimListQuery = z.infer<typeof scimListQuerySchema>;

const scim = (schema: Content['schema'], example?: unknown): Content => ({
  mediaType: scimMediaType,
  schema,
  ...(example === undefined ? {} : { example }),
});

const read = [...anywhere, 'unauthenticated'] as const;
const written = [...read, ...ofBodies] as const;
const token = ['scimToken'] as const;
const id = { note: 'The id that this service gave.', id: 'scimResource' } as const;
const errors = { errorContent: scim(scimErrorSchema) } as const;

const answers = (schema: z.ZodType, returns: string) => ({ returns, otherContent: [scim(schema)], ...errors });
const takes = <Schema extends z.ZodType>(body: Schema, example: unknown) => ({
  body,
  otherBodies: [scim(body, example)],
  examples: { body: example },
});

const userExample = {
  schemas: [scimUrns.user],
  userName: 'ann@example.com',
  externalId: '00u1a2b3c4',
  name: { givenName: 'Ann', familyName: 'Lee' },
  emails: [{ value: 'ann@example.com', type: 'work', primary: true }],
  active: true,
};
const groupExample = { schemas: [scimUrns.group], displayName: 'Engineering', members: [] };
const leavingExample = { schemas: [scimUrns.patch], Operations: [{ op: 'replace', path: 'active', value: false }] };
const renamingExample = {
  schemas: [scimUrns.patch],
  Operations: [{ op: 'replace', path: 'displayName', value: 'Engineers' }],
};

const description = (operationId: string, summary: string, schema: z.ZodType) =>
  ({
    operationId,
    summary,
    credentials: token,
    ...answers(schema, 'The description.'),
    errors: read,
  }) satisfies Contract;

/** SCIM 2.0 for the OpenID provider of the deployment: people and groups. */
export const scimContracts = contracts({
  'GET /v1/scim/v2/ServiceProviderConfig': description(
    'getScimConfig',
    'Get what SCIM supports here',
    scimDescriptionSchema,
  ),
  'GET /v1/scim/v2/ResourceTypes': description(
    'listScimResourceTypes',
    'List the types of resources',
    scimDescriptionListSchema,
  ),
  'GET /v1/scim/v2/Schemas': description('listScimSchemas', 'List the schemas of resources', scimDescriptionListSchema),
  'GET /v1/scim/v2/Users': {
    operationId: 'listScimUsers',
    summary: 'List people',
    credentials: token,
    query: scimListQuerySchema,
    ...answers(scimUserListSchema, 'A page of people, oldest first.'),
    errors: [...read, 'invalid_request'],
  },
  'POST /v1/scim/v2/Users': {
    operationId: 'createScimUser',
    summary: 'Create a person',
    description:
      'The person may then sign up, whatever the domains of sign-up are. The account is created, or found, when the provider signs the person in for the first time. An address alone never finds an account.',
    credentials: token,
    ...takes(scimUserBodySchema, userExample),
    status: 201,
    ...answers(scimUserSchema, 'The person.'),
    errors: [...written, 'conflict'],
  },
  'GET /v1/scim/v2/Users/{id}': {
    operationId: 'getScimUser',
    summary: 'Get a person',
    credentials: token,
    params: { id },
    ...answers(scimUserSchema, 'The person.'),
    errors: [...read, 'not_found'],
  },
  'PUT /v1/scim/v2/Users/{id}': {
    operationId: 'replaceScimUser',
    summary: 'Replace a person',
    credentials: token,
    params: { id },
    ...takes(scimUserBodySchema, userExample),
    ...answers(scimUserSchema, 'The person.'),
    errors: [...written, 'not_found', 'conflict'],
  },
  'PATCH /v1/scim/v2/Users/{id}': {
    operationId: 'changeScimUser',
    summary: 'Change a person',
    description:
      'With `active` false, the person leaves: sessions end, keys stop, roles of groups and the role of an operator end. Money stays. With `active` true, the account works again, unless an operator disabled it.',
    credentials: token,
    params: { id },
    ...takes(scimPatchSchema, leavingExample),
    ...answers(scimUserSchema, 'The person.'),
    errors: [...written, 'not_found', 'conflict'],
  },
  'DELETE /v1/scim/v2/Users/{id}': {
    operationId: 'deleteScimUser',
    summary: 'Delete a person',
    description: 'The person leaves, as with `active` false. The account stays, disabled, with its money.',
    credentials: token,
    params: { id },
    status: 204,
    returns: 'The person is deleted.',
    ...errors,
    errors: [...read, 'not_found'],
  },
  'GET /v1/scim/v2/Groups': {
    operationId: 'listScimGroups',
    summary: 'List groups',
    credentials: token,
    query: scimListQuerySchema,
    ...answers(scimGroupListSchema, 'A page of groups, oldest first.'),
    errors: [...read, 'invalid_request'],
  },
  'POST /v1/scim/v2/Groups': {
    operationId: 'createScimGroup',
    summary: 'Create a group',
    credentials: token,
    ...takes(scimGroupBodySchema, groupExample),
    status: 201,
    ...answers(scimGroupSchema, 'The group.'),
    errors: [...written, 'conflict'],
  },
  'GET /v1/scim/v2/Groups/{id}': {
    operationId: 'getScimGroup',
    summary: 'Get a group',
    credentials: token,
    params: { id },
    query: scimListQuerySchema.pick({ excludedAttributes: true }),
    ...answers(scimGroupSchema, 'The group.'),
    errors: [...read, 'invalid_request', 'not_found'],
  },
  'PUT /v1/scim/v2/Groups/{id}': {
    operationId: 'replaceScimGroup',
    summary: 'Replace a group',
    credentials: token,
    params: { id },
    ...takes(scimGroupBodySchema, groupExample),
    ...answers(scimGroupSchema, 'The group.'),
    errors: [...written, 'not_found', 'conflict'],
  },
  'PATCH /v1/scim/v2/Groups/{id}': {
    operationId: 'changeScimGroup',
    summary: 'Change a group',
    description: 'People who join or leave it get or lose the roles that `OIDC_ROLES` gives to the group, at once.',
    credentials: token,
    params: { id },
    ...takes(scimPatchSchema, renamingExample),
    ...answers(scimGroupSchema, 'The group.'),
    errors: [...written, 'not_found', 'conflict'],
  },
  'DELETE /v1/scim/v2/Groups/{id}': {
    operationId: 'deleteScimGroup',
    summary: 'Delete a group',
    credentials: token,
    params: { id },
    status: 204,
    returns: 'The group is deleted, and the roles that it gave end.',
    ...errors,
    errors: [...read, 'not_found'],
  },
});
