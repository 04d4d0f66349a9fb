import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['src/api/openapi.ts'] },
  ...tseslint.configs.strict,
  {
    rules: {
      eqeqeq: 'error',
      'no-restricted-syntax': [
        'error',
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: 'Text of users is never HTML.' },
        { selector: "MemberExpression[property.name='innerHTML']", message: 'Text of users is never HTML.' },
      ],
    },
  },
)
