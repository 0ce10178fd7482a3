"""Writes tree_objectives/*.json: for every objective of xgboost and LightGBM a small model that the library
has trained, with rows and what the library's `predict` gives for them. Needs both libraries:

    pip install xgboost lightgbm scikit-learn
    python python/tests/trees/make_tree_objectives.py

The committed files are of xgboost 3.2.0 and LightGBM 4.7.0 (each says so itself).
"""

import json
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

SETTINGS = {"n_estimators": 3, "max_depth": 2, "learning_rate": 0.5, "n_jobs": 1}
LIGHT = {**SETTINGS, "verbose": -1, "min_child_samples": 5, "min_data_in_bin": 8}
RANDOM = np.random.default_rng(7)
ROWS = np.round(RANDOM.normal(size=(120, 3)), 3)
VALUES = ROWS @ [1.0, -0.5, 0.25] + 0.1 * RANDOM.normal(size=120)
POSITIVE = np.exp(VALUES / 2)
PART = 1 / (1 + np.exp(-VALUES))
TWO = (VALUES > 0.3).astype(int)
THREE = np.digitize(VALUES, [-0.5, 0.5])
GROUPS = [40, 40, 40]
RANKS = np.digitize(VALUES, [0.2])

XGBOOST = {
    "reg:squarederror": (xgboost.XGBRegressor, VALUES),
    "reg:squarederror of two targets": (xgboost.XGBRegressor, np.stack([VALUES, POSITIVE], axis=1)),
    "reg:squaredlogerror": (xgboost.XGBRegressor, POSITIVE),
    "reg:logistic": (xgboost.XGBRegressor, PART),
    "reg:pseudohubererror": (xgboost.XGBRegressor, VALUES),
    "reg:absoluteerror": (xgboost.XGBRegressor, VALUES),
    "reg:quantileerror": (xgboost.XGBRegressor, VALUES),
    "reg:gamma": (xgboost.XGBRegressor, POSITIVE),
    "reg:tweedie": (xgboost.XGBRegressor, POSITIVE),
    "count:poisson": (xgboost.XGBRegressor, POSITIVE),
    "survival:cox": (xgboost.XGBRegressor, POSITIVE),
    "survival:aft": (xgboost.XGBRegressor, POSITIVE),
    "binary:logistic": (xgboost.XGBClassifier, TWO),
    "binary:logistic of two labels": (xgboost.XGBClassifier, np.stack([TWO, 1 - TWO], axis=1)),
    "binary:logitraw": (xgboost.XGBClassifier, TWO),
    "binary:hinge": (xgboost.XGBClassifier, TWO),
    "multi:softmax": (xgboost.XGBClassifier, THREE),
    "multi:softprob": (xgboost.XGBClassifier, THREE),
    "rank:ndcg": (xgboost.XGBRanker, RANKS),
    "rank:map": (xgboost.XGBRanker, RANKS),
    "rank:pairwise": (xgboost.XGBRanker, RANKS),
}
LIGHTGBM = {
    "regression": (lightgbm.LGBMRegressor, VALUES),
    "regression sqrt": (lightgbm.LGBMRegressor, VALUES),
    "regression_l1": (lightgbm.LGBMRegressor, VALUES),
    "huber": (lightgbm.LGBMRegressor, VALUES),
    "fair": (lightgbm.LGBMRegressor, VALUES),
    "quantile": (lightgbm.LGBMRegressor, VALUES),
    "mape": (lightgbm.LGBMRegressor, VALUES),
    "poisson": (lightgbm.LGBMRegressor, POSITIVE),
    "gamma": (lightgbm.LGBMRegressor, POSITIVE),
    "tweedie": (lightgbm.LGBMRegressor, POSITIVE),
    "cross_entropy": (lightgbm.LGBMRegressor, PART),
    "cross_entropy_lambda": (lightgbm.LGBMRegressor, PART),
    "binary": (lightgbm.LGBMClassifier, TWO),
    "multiclass": (lightgbm.LGBMClassifier, THREE),
    "multiclassova": (lightgbm.LGBMClassifier, THREE),
    "lambdarank": (lightgbm.LGBMRanker, RANKS),
    "rank_xendcg": (lightgbm.LGBMRanker, RANKS),
    "custom": (lightgbm.LGBMRegressor, VALUES),
}


def of_xgboost(name):
    """The trained model of one entry of XGBOOST."""
    kind, targets = XGBOOST[name]
    objective = name.partition(" ")[0]
    more = {"quantile_alpha": 0.3} if objective == "reg:quantileerror" else {}
    if objective == "survival:aft":
        table = xgboost.DMatrix(ROWS, label_lower_bound=targets, label_upper_bound=targets + 1)
        return xgboost.train({"objective": objective, "max_depth": 2, "eta": 0.5}, table, 3)
    model = kind(objective=objective, **SETTINGS, **more)
    return model.fit(ROWS, targets, **({"group": GROUPS} if kind is xgboost.XGBRanker else {}))


def squared_error(targets, values):
    """An objective of the user's own."""
    return values - targets, np.ones(len(values))


def of_lightgbm(name):
    """The trained model of one entry of LIGHTGBM."""
    kind, targets = LIGHTGBM[name]
    objective = squared_error if name == "custom" else name.partition(" ")[0]
    model = kind(objective=objective, reg_sqrt="sqrt" in name, **LIGHT)
    return model.fit(ROWS, targets, **({"group": GROUPS} if kind is lightgbm.LGBMRanker else {}))


def dump_xgboost(model):
    booster = model if isinstance(model, xgboost.Booster) else model.get_booster()
    return json.loads(bytes(booster.save_raw("json")))


def write(library, names, train, dump):
    models = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = train(name)
        rows = xgboost.DMatrix(ROWS[:30]) if isinstance(model, xgboost.Booster) else ROWS[:30]
        models[name] = {"model": dump(model), "predictions": np.asarray(model.predict(rows)).tolist()}
    contents = {
        "library": f"{library.__name__} {library.__version__}",
        "rows": ROWS[:30].tolist(),
        "models": models,
    }
    path = Path(__file__).parent / "tree_objectives" / f"{library.__name__}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(contents, separators=(",", ":")) + "\n")


def main():
    write(xgboost, XGBOOST, of_xgboost, dump_xgboost)
    write(lightgbm, LIGHTGBM, of_lightgbm, lambda model: model.booster_.dump_model())


if __name__ == "__main__":
    main()
