import { billingFileSchema } from '@sotto/control/testing';
import { catalogFileSchema, registryFileSchema } from '@sotto/router';
import { describeSettings, inlineParts, isSecretName, settingPaths, settingsSchemas } from '@sotto/server';
import * as z from 'zod';

interface Node {
  type?: string;
  description?: string;
  pattern?: string;
  properties?: Record<string, Node>;
  additionalProperties?: false;
  items?: Node;
  minItems?: number;
  required?: string[];
}

/** Builds the JSON Schema of `sotto.yaml`, with which editors complete keys and show their meaning. */
export function settingsSchemaFile(): string {
  const root: Node = { type: 'object', properties: {}, additionalProperties: false };
  for (const [plane, schema] of Object.entries(settingsSchemas)) {
    for (const { name, takes, meaning, defaultValue } of describeSettings(schema)) {
      const path = settingPaths[plane as keyof typeof settingsSchemas][name];
      if (path === undefined) continue;
      const said = [meaning, takes && `Takes ${takes}.`, defaultValue && `Default: ${defaultValue}.`];
      const description = said.filter(Boolean).join(' ');
      // The same path may stand in several schemas. The first that describes it does.
      const node = nodeAt(root, path);
      node.description ??= description;
      // A URL without a password may stand in the file.
      if (isSecretName(name) && !name.endsWith('_URL'))
        Object.assign(node, { type: 'string', pattern: '^(env:[A-Za-z_]\\w*|file:.+)$' });
    }
  }
  for (const [variable, part] of Object.entries(inlineParts)) {
    const $ref = `#/$defs/${variable}`;
    // A list stands for the file that has only this list.
    const isList = part in (partFiles[variable]?.shape ?? {});
    Object.assign(nodeAt(root, part), {
      ...(isList
        ? { anyOf: [{ $ref: `${$ref}/properties/${part}` }, { $ref }, { $ref: `${$ref}_EXTENDING` }] }
        : { $ref }),
      description: `The content of ${variable}, in this file.`,
    });
  }
  const head = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'sotto.yaml' };
  return `${JSON.stringify({ ...head, ...root, $defs: definitions() }, undefined, 2)}\n`;
}

/** The schemas of the files that may stand inline. */
const partFiles: Readonly<Record<string, z.ZodObject>> = {
  PROVIDERS_FILE: registryFileSchema,
  CATALOG_FILE: catalogFileSchema,
  BILLING_FILE: billingFileSchema,
};

const definitions = () =>
  Object.fromEntries(
    Object.entries(partFiles).flatMap(([variable, schema]) => {
      // Without descriptions: those of shared schemas, such as provider ids, are about requests.
      const options = { io: 'input', unrepresentable: 'any', metadata: z.registry<Record<string, unknown>>() } as const;
      const { $schema: _, ...own }: Node & { $schema?: string } = JSON.parse(
        JSON.stringify(z.toJSONSchema(schema, options)),
      );
      const { extends: builtIn, ...properties } = own.properties ?? {};
      if (builtIn === undefined) return [[variable, own]];
      const changes = { extends: builtIn, ...changesOf(properties) };
      return [
        [variable, { ...own, properties }],
        [`${variable}_EXTENDING`, { ...own, properties: changes, required: ['extends'] }],
      ];
    }),
  );

/** The properties of a file that extends the built-in one. An entry must have what names it: the rest may be built in. */
const changesOf = (properties: Readonly<Record<string, Node>>): Record<string, Node> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, list]) => {
      const { required = [], properties: fields = {} } = list.items ?? {};
      const names = required.filter((field) => field === 'id' || field === 'provider');
      if (names.length === 0) return [name, list];
      const items = { ...list.items, required: names, properties: changesOf(fields) };
      return [name, { ...list, minItems: 0, items }];
    }),
  );

/** The node of a path. Creates the maps above it. */
function nodeAt(root: Node, path: string): Node {
  let node = root;
  const names = path.split('.');
  for (const [depth, name] of names.entries()) {
    node.properties ??= {};
    node.properties[name] ??= depth === names.length - 1 ? {} : { type: 'object', additionalProperties: false };
    node = node.properties[name];
  }
  return node;
}
