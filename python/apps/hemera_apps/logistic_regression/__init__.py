"""Logistic regression trained on encrypted samples (CKKS, with bootstrapping): docs/applications.md.

settings = Settings(features=25, batch=1024, iterations=30)
plan = fastest_plan(settings)
client, server = Client(plan), Server(plan, context, keys)
"""

from hemera_apps.logistic_regression.choice import fastest_plan
from hemera_apps.logistic_regression.clear import train_clear
from hemera_apps.logistic_regression.client import Client
from hemera_apps.logistic_regression.measures import Quality, area_under_curve, loss, quality
from hemera_apps.logistic_regression.parameters import make_parameters
from hemera_apps.logistic_regression.plan import TrainingPlan
from hemera_apps.logistic_regression.preparation import Preparation, make_batches, suggest_rate
from hemera_apps.logistic_regression.server import Server
from hemera_apps.logistic_regression.settings import Settings
from hemera_apps.logistic_regression.sigmoid import Sigmoid, sigmoid
from hemera_apps.logistic_regression.tables import (
    Table,
    breast_cancer,
    loan_applications,
    read_classes,
    read_table,
)

__all__ = [
    "Client",
    "Preparation",
    "Quality",
    "Server",
    "Settings",
    "Sigmoid",
    "Table",
    "TrainingPlan",
    "area_under_curve",
    "breast_cancer",
    "fastest_plan",
    "loan_applications",
    "loss",
    "make_batches",
    "make_parameters",
    "quality",
    "read_classes",
    "read_table",
    "sigmoid",
    "suggest_rate",
    "train_clear",
]
