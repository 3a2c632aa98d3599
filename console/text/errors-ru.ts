/**
 * The service's error codes in Russian. `{name}` stands for a member of the error's details. The service's own message, which is English and
 * says more, is shown beside it; so is that of a code which is not here.
 */
const ERRORS: Readonly<Record<string, string>> = {
  // Access
  TOKEN_REQUIRED: 'Нужен токен.',
  TOKEN_UNKNOWN: 'Такого токена у сервиса нет.',
  IDENTITY_UNLISTED: 'Вас узнали, но прав у вас здесь нет: их даёт администратор.',
  IDENTITY_PROVIDER_AWAY: 'Служба входа не отвечает, и проверить вас нельзя. Попробуйте ещё раз.',
  ROLE_MISSING: 'Для этого токену нужна роль {needs}.',
  ENTRY_FORBIDDEN: 'Этому токену нельзя менять «{id}».',
  WRITE_NOT_LOCAL: 'Без токенов изменять можно только с самой машины сервиса.',
  ORIGIN_FOREIGN: 'Запрос пришёл с чужой страницы и отклонён.',
  HOST_NOT_ALLOWED: 'Сервис не принимает запросы под этим именем хоста.',
  RATE_LIMITED: 'Токен исчерпал свой лимит на эту минуту. Повторите чуть позже.',
  BUDGET_USED: 'Бюджет «{budget}» исчерпан: {bound}. Новый начнётся {ends}.',
  PRICE_UNKNOWN: 'Бюджет «{budget}» задан в USD, а цена модели «{model}» не известна.',
  OVERLOADED: 'Сервис перегружен. Повторите чуть позже.',
  // Requests
  REQUEST_INVALID: 'Сервис не принял запрос: он составлен неверно.',
  BODY_TOO_LARGE: 'Запрос слишком велик: можно не больше {limit} байт.',
  MEDIA_TYPE_UNSUPPORTED: 'Сервис не принимает данные такого типа.',
  ENCODING_UNSUPPORTED: 'Сервис не принимает сжатые запросы.',
  CHARSET_UNSUPPORTED: 'Сервис принимает текст только в UTF-8.',
  REQUEST_TIMEOUT: 'Запрос шёл слишком долго.',
  HEADERS_TOO_LARGE: 'Адрес и заголовки запроса слишком длинные.',
  EXPECTATION_UNKNOWN: 'Сервис не понимает заголовок expect.',
  URL_TOO_LONG: 'Имя в адресе слишком длинное.',
  CLIENT_CLOSED: 'Соединение закрылось раньше ответа.',
  ROUTE_NOT_FOUND: 'Такого адреса у сервиса нет.',
  METHOD_NOT_ALLOWED: 'Этот адрес не принимает такой метод.',
  IDEMPOTENCY_KEY_REUSED: 'С этим ключом идемпотентности уже начата другая сессия.',
  TOO_MANY_STREAMS: 'Открыто слишком много потоков событий. Закройте лишние вкладки.',
  TOO_MANY_SOCKETS: 'Открыто слишком много соединений. Закройте лишние вкладки.',
  // What is registered
  EXTENSION_NOT_FOUND: 'Расширения «{id}» нет.',
  PROMPT_NOT_FOUND: 'Промпта «{id}» нет.',
  ENVIRON_NOT_FOUND: 'Общей переменной «{id}» нет.',
  DEFINITION_NOT_FOUND: 'Определения «{id}» нет, или им нельзя воспользоваться.',
  TOOL_NOT_FOUND: 'Инструмента «{id}» нет.',
  LABEL_NOT_FOUND: 'У промпта «{id}» нет метки «{label}».',
  VERSION_NOT_FOUND: 'У промпта «{id}» нет версии {version}.',
  TEMPLATE_SYNTAX: 'В тексте промпта «{id}» ошибка.',
  TEMPLATE_LINK: 'Промпт «{id}» обращается к тому, чего нет.',
  TEMPLATE_CYCLE: 'Промпт «{id}» вызывает сам себя без конца.',
  ENVIRON_INVALID: 'Значение этой общей переменной нельзя прочитать.',
  LINT_BUSY: 'Проверок сейчас слишком много. Повторите чуть позже.',
  // Renders and tools
  VARIABLE_MISSING: 'Промпту «{id}» не хватает значений.',
  VARIABLES_INVALID: 'Значения переменных промпта «{id}» не подходят.',
  RENDER_FAILED: 'Промпт «{id}» не удалось собрать.',
  PART_INVALID: 'Промпт «{id}» дал части, которых не примет ни одна модель.',
  TOOL_FAILED: 'Инструмент не ответил как нужно.',
  RENDER_TIMEOUT: 'Промпт собирался слишком долго.',
  RENDER_BUDGET: 'Сборка промпта требует больше, чем разрешено.',
  RENDER_ENDLESS: 'Промпт вызывал сам себя слишком много раз.',
  ARGUMENTS_INVALID: 'Аргументы инструмента «{id}» не подходят.',
  TOOL_NOT_CALLABLE: 'Инструмент «{id}» нельзя вызвать.',
  BUNDLE_INVALID: 'Этой записью нельзя воспользоваться.',
  BUNDLE_STALE: 'Запись сделана с другой редакции промпта «{id}».',
  BUNDLE_INCOMPLETE: 'В записи не хватает ответа инструмента.',
  PROMPT_REVISION: 'Промпт «{id}» тем временем изменился.',
  // Publishing
  STORE_UNAVAILABLE: 'Хранилище недоступно.',
  ENTRY_INVALID: 'Не сохранено: в тексте ошибки.',
  ENTRY_NOT_FOUND: 'Под этим именем ничего не хранится.',
  ENTRY_CHANGED: 'Не сохранено: тем временем это изменил кто-то другой.',
  STORE_READ_ONLY: 'Этому сервису нельзя писать в своё хранилище.',
  LABEL_PROTECTED: 'Метку «{label}» этому токену двигать нельзя.',
  PROMPT_LABELLED: 'У промпта «{id}» есть метки. Сначала снимите их.',
  VERSION_LABELLED: 'На версии {version} стоит метка. Сначала перенесите её.',
  RELEASES_UNREADABLE: 'Ничего не изменено: сохранённые выпуски нельзя прочитать.',
  TESTS_UNREADABLE: 'Сохранённые тесты нельзя прочитать.',
  // Models
  LLM_NOT_CONFIGURED: 'Модель не настроена.',
  MODEL_NOT_FOUND: 'Такой модели нет.',
  LLM_UPSTREAM: 'Модель не дала пригодного ответа.',
  LLM_RATE_LIMITED: 'Поставщик модели отклонил запрос: слишком много запросов или исчерпана квота.',
  LLM_AUTH: 'Поставщик модели не принял ключ сервиса.',
  LLM_BUSY: 'К модели сейчас слишком много запросов. Повторите чуть позже.',
  ANSWER_INVALID: 'Ответ модели не такой, какой обещает промпт «{id}».',
  TOOL_LOOP_ENDLESS: 'Модель вызывала инструменты слишком много раз.',
  INPUT_TOO_LONG: 'Текст для модели слишком длинный: около {estimatedTokens} токенов, разрешено {maxInputTokens}.',
  INPUT_UNCOUNTED: 'В запросе к модели есть часть, длину которой нельзя посчитать.',
  // Sessions
  SESSION_NOT_FOUND: 'Такой сессии нет.',
  SESSION_ENDED: 'Сессия завершена.',
  SESSION_BUSY: 'Сессия сейчас занята другим.',
  SESSION_FULL: 'Сессия достигла своего предела. Продолжить можно в её копии с более раннего места.',
  SESSIONS_UNAVAILABLE: 'Сессии сейчас недоступны.',
  TOO_MANY_SESSIONS: 'Слишком много незавершённых сессий. Отмените лишние.',
  FORK_IMPOSSIBLE: 'Эту сессию нельзя продолжить копией.',
  DEFINITIONS_TOO_MANY: 'Этому агенту доступно слишком много определений.',
  APPROVAL_NOT_FOUND: 'Такого запроса на разрешение нет.',
  APPROVAL_OUTDATED: 'Разрешения ждёт уже не то, что было показано.',
  APPROVAL_DECIDED: 'Решение уже принято.',
  APPROVER_REFUSED: 'Ваше согласие здесь не считается: посмотреть должен кто-то другой.',
  COMMIT_DISABLED: 'Коммиты здесь выключены.',
  COMMIT_DENIED: 'Коммит не разрешён.',
  SKILL_NOT_WAITING: 'Навык сейчас этого не ждёт.',
  SKILL_FAILED: 'Навык завершился с ошибкой.',
  WORKSPACE_NOT_FOUND: 'Такой рабочей папки вам не предложено.',
  NOTICE_NOT_FOUND: 'Такого извещения или получателя нет.',
  MEMORY_UNUSABLE: 'Память нельзя прочитать или записать.',
  // Targets and terminals
  TARGET_NOT_FOUND: 'Машины «{name}» нет.',
  TARGETS_NOT_OFFERED: 'Машин вам не предложено.',
  TERMINAL_UNSUPPORTED: 'На машине «{target}» терминалов нет.',
  TERMINAL_NOT_FOUND: 'Такого терминала нет.',
  TERMINAL_GONE: 'Терминал завершён.',
  TERMINAL_ELSEWHERE: 'Терминал открыт в другом процессе сервиса.',
  TOO_MANY_TERMINALS: 'Открыто слишком много терминалов. Завершите лишние.',
  TERMINAL_FAILED: 'Терминал на машине «{target}» открыть не удалось.',
  INTERNAL: 'В сервисе произошла ошибка.'
}

/** The words for an error; `undefined` for an unknown code, and where the error lacks a detail that the words need. */
export function errorInRussian (code: string, details: Readonly<Record<string, unknown>> = {}): string | undefined {
  const words = Object.hasOwn(ERRORS, code) ? ERRORS[code] as string : undefined
  let isWhole = true
  const said = words?.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(details, name) ? details[name] : undefined
    isWhole &&= typeof value === 'string' || typeof value === 'number'
    return String(value)
  })
  return isWhole ? said : undefined
}
