export { writeYaml } from './write-yaml.ts';
export { type FileProblem, type FileResult, readYaml, readYamlAs, type YamlSource } from './yaml-source.ts';
