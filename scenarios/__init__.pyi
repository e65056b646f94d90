from .declaration.catalogue import load as load
from .declaration.catalogue import names as names
from .declaration.schema import Scenario as Scenario
from .errors import UserError as UserError
from .running.progress import PlainLines as PlainLines
from .running.run import run as run
from .study.study import Study as Study
